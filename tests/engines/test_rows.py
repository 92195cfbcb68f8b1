"""Readers give the rows that are there, in blocks that are small to send."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import tensorgen
from tensorgen.engines import (
    csr_rows,
    dask_rows,
    edges,
    npy_rows,
    parquet_rows,
    save_csr,
    zarr_rows,
)
from tests import made

Array = Any
RNG = np.random.default_rng(1)
DATA: dict[str, Array] = {
    "X": RNG.standard_normal((103, 3)),
    "y": RNG.standard_normal(103),
    "k": RNG.integers(0, 9, 103),
}


def npy(folder: Path) -> Sequence[Any]:
    for name, array in DATA.items():
        np.save(folder / f"{name}.npy", array)
    return npy_rows({name: folder / f"{name}.npy" for name in DATA}, rows=20)


def several_npy(folder: Path) -> Sequence[Any]:
    parts = []
    for start, stop in (0, 50), (50, 103):
        parts.append({name: folder / f"{name}{start}.npy" for name in DATA})
        for name, array in DATA.items():
            np.save(parts[-1][name], array[start:stop])
    return npy_rows(parts, rows=20)


def zarr(folder: Path) -> Sequence[Any]:
    import zarr

    for name, array in DATA.items():
        store = zarr.open_array(
            str(folder / name),
            mode="w",
            shape=array.shape,
            chunks=(20, *array.shape[1:]),
            dtype=array.dtype,
        )
        store[:] = array
    return zarr_rows({name: folder / name for name in DATA}, nbytes=1)


def parquet(folder: Path) -> Sequence[Any]:
    import pyarrow
    from pyarrow import parquet

    columns = {f"x{j}": DATA["X"][:, j] for j in range(3)}
    table = pyarrow.table({**columns, "y": DATA["y"], "k": DATA["k"]})
    parquet.write_table(table, folder / "rows.parquet", row_group_size=20)
    wanted = {"X": ["x0", "x1", "x2"], "y": "y", "k": "k"}
    return parquet_rows(folder / "rows.parquet", wanted, nbytes=1)


def dask(folder: Path) -> Sequence[Any]:
    import dask.array

    return dask_rows({name: dask.array.from_array(a, 20) for name, a in DATA.items()})


def in_memory(folder: Path) -> Sequence[Any]:
    return csr_rows(DATA, rows=20)


READERS = [npy, several_npy, zarr, parquet, dask, in_memory]


def sent(block: Any) -> Any:
    """A block as another process has it."""
    return pickle.loads(pickle.dumps(block))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("way", [lambda block: block, sent])
def test_blocks_have_all_rows_in_order(
    reader: Callable[[Path], Sequence[Any]], way: Callable[[Any], Any], tmp_path: Path
) -> None:
    blocks = reader(tmp_path)
    assert len(blocks) == (6 if reader is not several_npy else 3 + 3)
    found = [way(block)() for block in blocks]
    for name, array in DATA.items():
        whole = np.concatenate([block[name] for block in found])
        assert whole.dtype == array.dtype
        np.testing.assert_array_equal(whole, array)


def test_a_block_of_files_is_small_to_send_and_one_of_memory_takes_its_rows(
    tmp_path: Path,
) -> None:
    import dask.array

    large = {"X": np.ones((10_000, 10)), "y": np.ones(10_000)}
    paths = {name: tmp_path / f"{name}.npy" for name in large}
    for name, array in large.items():
        np.save(paths[name], array)
    size = 8 * 11 * 1000
    in_files = pickle.dumps(npy_rows(paths, rows=1000)[3])
    arrays = {name: dask.array.from_array(array, 1000) for name, array in large.items()}
    assert len(in_files) < 2000
    for block in csr_rows(large, rows=1000)[3], dask_rows(arrays)[3]:
        assert size < len(pickle.dumps(block)) < size + 4000


def test_blocks_are_as_large_as_they_may_be(tmp_path: Path) -> None:
    npy(tmp_path)
    paths = {name: tmp_path / f"{name}.npy" for name in DATA}
    sizes = [len(block()["y"]) for block in npy_rows(paths, nbytes=10 * 40)]
    assert sizes == 10 * [10] + [3]
    assert len(npy_rows(paths)) == 1
    # Chunks of 20 rows are not read twice.
    zarr(tmp_path)
    chunked = zarr_rows({name: tmp_path / name for name in DATA}, nbytes=50 * 40)
    assert [len(block()["y"]) for block in chunked] == [40, 40, 23]


def test_files_that_cannot_be_read_by_rows_are_refused(tmp_path: Path) -> None:
    def refused(array: Array, message: str) -> None:
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(ValueError, match=message):
            npy_rows({"X": tmp_path / "a.npy"})

    refused(np.asfortranarray(DATA["X"]), r"a\.npy: .* in Fortran order")
    refused(np.array(1.0), r"a\.npy: expected rows, got a number")
    refused(np.array([None, 1]), r"a\.npy: expected numbers, got dtype object")
    npy(tmp_path)
    np.save(tmp_path / "y.npy", DATA["y"][1:])
    paths = {name: tmp_path / f"{name}.npy" for name in ("X", "y")}
    with pytest.raises(ValueError, match="X has 103, y has 102"):
        npy_rows(paths)
    with pytest.raises(ValueError, match="got none"):
        npy_rows({})
    with pytest.raises(ValueError, match="one a block at least, got 0"):
        npy_rows({"X": tmp_path / "X.npy"}, rows=0)
    block = npy_rows({"X": tmp_path / "X.npy"}, rows=50)[1]
    data = (tmp_path / "X.npy").read_bytes()
    (tmp_path / "X.npy").write_bytes(data[:-800])
    with pytest.raises(ValueError, match=r"X\.npy: the file ends before row 100"):
        block()


def test_no_rows_are_one_block_of_none(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.ones((0, 3)))
    (block,) = npy_rows({"X": tmp_path / "X.npy"})
    assert block()["X"].shape == (0, 3)


def test_parquet_says_what_is_missing(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.table({"a": [1.0, None], "b": [1, 2]}), path)
    (block,) = parquet_rows(path, {"y": "a"})
    with pytest.raises(ValueError, match="1 values of a are missing, in row groups 0"):
        block()
    with pytest.raises(ValueError, match="has no column c"):
        parquet_rows([path], {"X": ["b", "c"]})


def test_chunks_of_dask_arrays_have_to_agree() -> None:
    import dask.array

    arrays = {"X": dask.array.ones((9, 2), chunks=3), "y": dask.array.ones(9, chunks=4)}
    with pytest.raises(ValueError, match="X has 3, y has 3; rechunk them"):
        dask_rows(arrays)


@pytest.mark.parametrize("library", ["dask", "pyarrow.parquet", "zarr"])
def test_a_library_that_is_not_there_is_named(
    library: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reader = {"dask": dask, "pyarrow.parquet": parquet, "zarr": zarr}[library]
    blocks = reader(tmp_path)
    monkeypatch.setitem(sys.modules, library, None)
    message = rf"{library.partition('.')[0]} is not installed: .*tensorgen\[engines\]"
    with pytest.raises(ImportError, match=message):
        blocks[0]()


SPARSE = """
tensorgen: 1
blocks: m
inputs: {w: [n], X: {shape: [m, n], sparse: true}, y: [m]}
functions:
  loss:
    expr: sum(log(1 + exp(-y * (X @ w)))) + w @ w
    wrt: w
    emit: [value, gradient, hvp, problem]
"""


def assert_same(over: Any, wanted: Any, v: Array) -> None:
    """A function over blocks is the problem with all rows."""
    np.testing.assert_allclose(over.fun(v), wanted.value(v), rtol=1e-13)
    np.testing.assert_allclose(over.grad(v), wanted.gradient(v), rtol=1e-12)
    np.testing.assert_allclose(over.hvp(v, v**2), wanted.hvp(v, v**2), rtol=1e-12)


def test_sparse_rows_give_what_the_matrix_gives(tmp_path: Path) -> None:
    module = made.load(SPARSE)
    X = sp.random_array((103, 8), density=0.3, rng=RNG, format="csr")
    y = RNG.choice([-1.0, 1.0], 103)
    save_csr(tmp_path / "X", X)
    np.save(tmp_path / "y.npy", y)
    v = RNG.standard_normal(8)
    wanted = module.LossProblem(X=X, y=y)
    for arrays in ({"X": X, "y": y}, {"X": tmp_path / "X", "y": tmp_path / "y.npy"}):
        for blocks in csr_rows(arrays, rows=20), csr_rows(arrays, nbytes=900):
            assert len(blocks) > 4
            for way in list, lambda blocks: [sent(block) for block in blocks]:
                assert_same(module.LossProblem.over(way(blocks)), wanted, v)


ANSWERS = """
tensorgen: 1
blocks: {m: {E: row}}
inputs:
  b: [k]
  z: [m]
  row: {shape: [E], index: m}
  col: {shape: [E], index: k}
  y: [E]
functions:
  loss:
    where: |
      t = z[row] - b[col]
    expr: sum(log(1 + exp(t)) - y * t) + sum(b**2)
    wrt: b
    emit: [value, gradient, hvp, problem]
"""


def answers() -> dict[str, Array]:
    """Entries in no order, of rows the last of which has none."""
    return {
        "row": RNG.integers(0, 40, 300),
        "col": RNG.integers(0, 5, 300),
        "y": RNG.choice([0.0, 1.0], 300),
        "z": RNG.standard_normal(41),
    }


def test_entries_come_with_their_rows() -> None:
    module, data = made.load(ANSWERS), answers()
    columns = {name: data[name] for name in ("col", "y")}
    v = RNG.standard_normal(5)
    wanted = module.LossProblem(**data)
    cuts: list[dict[str, Any]] = [{"rows": 7}, {"nbytes": 1500}]
    for cut in cuts:
        blocks = edges({"row": data["row"]}, columns, beside={"z": data["z"]}, **cut)
        assert len(blocks) > 4
        for way in list, lambda blocks: [sent(block) for block in blocks]:
            assert_same(module.LossProblem.over(way(blocks)), wanted, v)


def test_entries_without_arrays_beside_count_their_rows() -> None:
    data = answers()
    for count, last in (None, 40), (44, 44):
        blocks = edges({"row": data["row"]}, {"y": data["y"]}, count=count, rows=9)
        assert blocks[-1].stop == last
        counts = [np.bincount(block()["row"], minlength=9) for block in blocks]
        wanted = np.bincount(data["row"], minlength=last)
        np.testing.assert_array_equal(np.concatenate(counts)[:last], wanted)


def test_entries_alone_tell_how_many_rows_a_block_has() -> None:
    given = {"row": RNG.integers(0, 40, 300)}
    blocks = edges(given, {}, count=44, size="m", rows=9)
    assert [sent(block)()["m"] for block in blocks] == 4 * [9] + [8]


def test_entries_that_name_no_row_are_refused() -> None:
    with pytest.raises(ValueError, match=r"row: expected rows in 0 \.\.\. 2, got 3"):
        edges({"row": [0, 3]}, {}, count=3)
    with pytest.raises(ValueError, match=r"row: expected rows in 0 \.\.\. 2, got -1"):
        edges({"row": [0, -1]}, {}, count=3)
    with pytest.raises(TypeError, match="row: expected integers, one an entry"):
        edges({"row": [0.0, 1.0]}, {})
    with pytest.raises(ValueError, match="y: expected 2 entries, as row has"):
        edges({"row": [0, 1]}, {"y": [1.0]})


def test_a_module_asks_for_none_of_this() -> None:
    assert "engines" not in tensorgen.generate(SPARSE)
