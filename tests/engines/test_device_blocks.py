"""Blocks on a device: what is copied while another is computed on, on the stand-in.

Its copies are late, and it refuses those into memory that is still computed on.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import tensorgen
from tensorgen.engines import (
    csr_rows,
    device_blocks,
    joined,
    load_totals,
    npy_rows,
    save_totals,
)
from tensorgen.engines.shares import answer, shares, trees
from tensorgen.engines.trees import whole
from tests.device.library import execute
from tests.engines import logistic


@pytest.fixture(scope="module")
def source() -> str:
    """The module of the other tests of engines, for CuPy."""
    return tensorgen.generate(logistic.SPEC, backend="cupy")


def on_host(rows: dict[str, Any]) -> dict[str, Any]:
    """Rows as they come back."""
    return {x: v.get() if hasattr(v, "get") else v for x, v in rows.items()}


def same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Compare rows to the last bit."""
    assert list(found) == list(wanted)
    for name, array in on_host(found).items():
        want = np.asarray(wanted[name])
        assert np.shape(array) == want.shape, name
        assert np.asarray(array).dtype == want.dtype.newbyteorder("="), name
        assert np.array_equal(array, want), name


def made(count: int, sizes: Sequence[int] = (7, 7, 3)) -> list[dict[str, Any]]:
    """Blocks of several types, each with numbers of its own."""
    rng = np.random.default_rng(0)
    blocks = []
    for k in range(count):
        rows = sizes[k % len(sizes)]
        X = rng.standard_normal((rows, 5))
        blocks.append(
            {
                "X": X,
                "single": X[:, :3].astype("f4"),  # not together
                "turned": np.asfortranarray(X + k),
                "swapped": X.astype(">f8"),
                "row": rng.integers(0, 9, rows),
                "is_in": X[:, 0] > 0,
                "m": rows,
            }
        )
    return blocks


# What arrives


@pytest.mark.parametrize("sizes", [(7,), (7, 7, 3), (1, 5, 90, 2), (0, 4, 0, 0)])
def test_blocks_arrive_as_they_are(cupy: ModuleType, sizes: tuple[int, ...]) -> None:
    blocks = made(9, sizes)
    found = device_blocks(blocks)
    assert len(found) == len(blocks)
    for _ in range(2):
        for block, wanted in zip(found, blocks, strict=True):
            rows = block()
            assert isinstance(rows["X"], cupy.ndarray)
            same(rows, wanted)


def test_blocks_are_called_in_any_order(cupy: ModuleType) -> None:
    blocks = made(9, (1, 5, 90, 2))
    found = device_blocks(blocks)
    for k in np.random.default_rng(1).integers(0, 9, 60):
        same(found[k](), blocks[k])


def test_sparse_rows_and_what_is_on_the_device_stay_what_they_are(
    cupy: ModuleType,
) -> None:
    X = scipy.sparse.random(40, 6, 0.3, "csr", rng=np.random.default_rng(0))
    blocks = csr_rows({"X": X, "y": np.arange(40.0)}, rows=9)
    for block, wanted in zip(device_blocks(blocks), blocks, strict=True):
        rows, want = block(), wanted()
        assert np.array_equal(rows["X"].toarray().get(), want["X"].toarray())
        assert np.array_equal(rows["y"].get(), want["y"])
    there = cupy.arange(3)
    (block,) = device_blocks([{"x": there, "size": np.int64(3)}])
    rows = block()
    assert rows["x"] is there and type(rows["size"]) is int


def test_arrays_that_are_held_stay_as_they_are(cupy: ModuleType) -> None:
    blocks = made(9)
    held = [block() for block in device_blocks(blocks)]
    for rows, wanted in zip(held, blocks, strict=True):
        same(rows, wanted)
    turned = [block()["X"].T for block in device_blocks(blocks)]
    for array, wanted in zip(turned, blocks, strict=True):
        assert np.array_equal(array.get(), wanted["X"].T)


def test_two_buffers_are_all_that_it_takes(
    cupy: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    for name in ("alloc", "alloc_pinned_memory"):
        own = getattr(cupy.cuda, name)

        def counted(size: int, own: Any = own, name: str = name) -> Any:
            asked.append(name)
            return own(size)

        monkeypatch.setattr(cupy.cuda, name, counted)

    def added(block: Any) -> float:
        return float(block()["X"].sum())

    blocks = made(9)
    found = device_blocks(blocks)
    for _ in range(3):
        wanted = [block["X"].sum() for block in blocks]
        assert np.allclose([*map(added, found)], wanted, rtol=1e-14)
    assert sorted(asked) == 2 * ["alloc"] + 2 * ["alloc_pinned_memory"]


# What is done meanwhile


class Read:
    """A block that tells when it is read, and by which thread."""

    def __init__(self, rows: Any) -> None:
        self.rows, self.times, self.thread = rows, 0, ""
        self.began = threading.Event()

    def __call__(self) -> Any:
        self.times, self.thread = self.times + 1, threading.current_thread().name
        self.began.set()
        return self.rows


def test_the_next_block_is_read_while_one_is_computed_on(cupy: ModuleType) -> None:
    reads = [Read(rows) for rows in made(5)]
    found = device_blocks(reads)
    for k, block in enumerate(found):
        block()
        assert k == 4 or reads[k + 1].began.wait(30)
    assert {read.thread for read in reads} == {"device_blocks_0"}
    assert [read.times for read in reads] == [1] * 5


def test_what_is_held_for_a_while_is_not_written_before_it_was_computed_on(
    cupy: ModuleType,
) -> None:
    blocks: list[Any] = made(3)
    dropped = threading.Event()

    def late(rows: Any) -> Any:
        assert dropped.wait(30)
        return rows

    blocks[2] = partial(late, blocks[2])
    found = device_blocks(blocks)
    first = found[0]()
    found[1]()
    same(first, blocks[0])
    del first
    dropped.set()
    same(found[2](), made(3)[2])


def test_random_blocks_are_not_read_in_vain(cupy: ModuleType) -> None:
    reads = [Read(rows) for rows in made(9)]
    found = device_blocks(reads)
    for k in (5, 3, 8, 2):
        found[k]()
    assert sum(read.times for read in reads) == 4


def test_an_error_is_of_its_block_and_the_next_pass_goes_on(
    cupy: ModuleType, source: str
) -> None:
    blocks: list[Any] = logistic.held()
    fails = True

    def spoilt(rows: Any) -> Any:
        if fails:
            logistic.spoil()
        return rows

    blocks[5] = partial(spoilt, blocks[5])
    loss = execute(source).LossProblem.over(device_blocks(blocks))
    v = cupy.linspace(-1, 1, logistic.COLUMNS)
    with pytest.raises(FileNotFoundError) as caught:
        loss.fun(v)
    assert caught.value.__notes__ == ["in block 5"]
    fails = False
    whole = execute(source).LossProblem.over(device_blocks(logistic.held()))
    assert float(loss.fun(v)) == float(whole.fun(v))
    (words,) = device_blocks([{"x": np.asarray(["a"])}])
    with pytest.raises(TypeError, match="x: expected numbers, got dtype <U1"):
        words()


def test_blocks_are_of_the_device_that_was_current(cupy: ModuleType) -> None:
    with cupy.cuda.Device(1):
        found = device_blocks(made(3))
        assert [block()["X"].data.device_id for block in found] == [1, 1, 1]


def test_blocks_on_a_device_are_not_sent(cupy: ModuleType) -> None:
    with pytest.raises(TypeError, match="stay in their process"):
        pickle.dumps(device_blocks(made(1)))


# What comes of it


def bits(module: ModuleType, blocks: Any, cupy: ModuleType, map: Any = map) -> bytes:
    """All that a function over blocks gives."""
    loss = module.LossProblem.over(blocks, map=map)
    v = cupy.linspace(-1, 1, logistic.COLUMNS)
    found = (*loss.fun_and_grad(v), loss.hess(v).dense(), loss.hvp(v, v**2))
    return b"".join(x.get().tobytes() for x in found)


def test_however_blocks_come_the_bits_are_the_same(
    cupy: ModuleType, source: str, tmp_path: Path
) -> None:
    module = execute(source)
    there = [{x: cupy.asarray(v) for x, v in b.items()} for b in logistic.held()]
    wanted = bits(module, there, cupy)
    files = npy_rows(logistic.saved(tmp_path), rows=logistic.AT_ONCE)

    def by_shares(function: Any, blocks: Any) -> Any:
        tasks = shares(blocks, 4, 1)
        return whole(trees(answer(function, None, task) for task in tasks))

    for blocks in logistic.held(), files:
        assert bits(module, device_blocks(blocks), cupy) == wanted
        assert bits(module, device_blocks(blocks), cupy, by_shares) == wanted


def test_totals_come_to_the_host_and_back(
    cupy: ModuleType, source: str, tmp_path: Path
) -> None:
    module: Any = execute(source)
    w = cupy.linspace(-1, 1, logistic.COLUMNS)
    blocks = device_blocks(logistic.held())
    part, kind = module.loss_value_and_grad_partial1, module.LossValueAndGradTotals
    totals = [part(w, **block()) for block in blocks]
    save_totals(tmp_path / "totals", joined(totals[:8]))
    kept = load_totals(tmp_path / "totals", kind, cupy.asarray)
    later = joined([kept, joined(totals[8:])])
    for ours, theirs in zip(later, joined(totals), strict=True):
        assert ours.get().tobytes() == theirs.get().tobytes()


# The stand-in


def lately(cupy: ModuleType) -> tuple[Any, Any, Any, Callable[[], Any]]:
    """Pinned memory of ones, memory of the device, a stream, and what copies."""
    pinned, memory = cupy.cuda.alloc_pinned_memory(16), cupy.cuda.alloc(16)
    np.frombuffer(pinned, "f8", 2)[:] = 1
    stream = cupy.cuda.Stream(non_blocking=True)
    copy = partial(memory.copy_from_host_async, pinned.ptr, 16, stream)
    return pinned, cupy.ndarray((2,), "f8", memptr=memory), stream, copy


def test_the_stand_ins_copies_are_late(cupy: ModuleType) -> None:
    pinned, array, stream, copy = lately(cupy)
    copy()
    copied = _now(cupy, stream)
    np.frombuffer(pinned, "f8", 2)[:] = 2  # too early
    cupy.cuda.get_current_stream().wait_event(copied)
    np.frombuffer(pinned, "f8", 2)[:] = 3  # too early, too
    assert array.get().tolist() == [3, 3]
    with pytest.raises(ValueError, match="pinned memory"):
        cupy.cuda.alloc(8).copy_from_host_async(np.ones(1).ctypes.data, 8, stream)


def test_the_stand_in_refuses_copies_into_what_is_computed_on(cupy: ModuleType) -> None:
    _, array, stream, copy = lately(cupy)
    array + array
    stream.wait_event(_now(cupy, None))
    copy()
    stream.synchronize()
    copy()
    array + array  # too early
    with pytest.raises(RuntimeError, match="may still be computed on"):
        stream.synchronize()


def _now(cupy: ModuleType, stream: Any) -> Any:
    event = cupy.cuda.Event()
    event.record(stream)
    return event
