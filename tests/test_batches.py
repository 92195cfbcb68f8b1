"""Functions over a batch are those of one sample, by JAX's vmap and by a loop."""

from __future__ import annotations

import inspect
import tracemalloc
from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import Any

import jax
import numpy as np
import pytest

from tests.batch_cases import CASES
from tests.device.library import execute, stand_in
from tests.made import both, load

pytestmark = pytest.mark.usefixtures("float64")
Array = Any


@pytest.fixture(scope="module")
def float64() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def _close(found: Array, wanted: Array) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    size = float(np.max(np.abs(wanted), initial=1e-6))
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9 * size)


def _blocks(found: Any, wrt: list[str]) -> list[Array]:
    """What is by each input, or by each pair of them, in order."""
    if isinstance(found, dict):
        return [found[pair] for pair in combinations_with_replacement(wrt, 2)]
    return [*found] if isinstance(found, tuple) else [found]


@pytest.mark.parametrize("name", CASES)
def test_derivatives_over_a_batch_are_those_of_vmap(name: str) -> None:
    case = CASES[name]
    module, given = load(case.spec()), case.arguments(4)
    wrt, places = case.wrt.split(", "), [*case.inputs]
    axes = tuple(0 if x in case.batch.split() else None for x in places)
    at = tuple(places.index(x) for x in wrt)
    first = jax.jacobian(case.oracle, argnums=at)
    args = [*given.values()]
    _close(module.f(**given), jax.vmap(case.oracle, axes)(*args))
    slope = module.f_grad if "gradient" in case.emit else module.f_jac
    wanted = jax.vmap(first, axes)(*args)
    for own, other in zip(_blocks(slope(**given), wrt), wanted, strict=True):
        _close(own, other)
    if "hessian" in case.emit:
        second = jax.vmap(jax.jacobian(first, argnums=at), axes)(*args)
        blocks = [
            second[i][j] for i, j in combinations_with_replacement(range(len(at)), 2)
        ]
        found = _blocks(module.f_hess(**given), wrt)
        for own, other in zip(found, blocks, strict=True):
            _close(own, other)


def _of_one(name: str, module: Any, given: dict[str, Array], wrt: list[str]) -> Any:
    """What a function of one sample returns, as arrays in a row."""
    found = getattr(module, name)(**given)
    parts = found if name.endswith(("jvp", "vjp", "and_grad", "hess")) else (found,)
    if name.endswith("_hess") and not isinstance(parts, tuple):
        parts = (parts,)
    return [x for part in parts for x in _arrays(part, wrt)]


def _arrays(part: Any, wrt: list[str]) -> list[Array]:
    if hasattr(part, "blocks"):
        pairs = combinations_with_replacement(wrt, 2)
        return [part.blocks[pair].dense() for pair in pairs]
    return [x.dense() if hasattr(x, "dense") else x for x in _blocks(part, wrt)]


@pytest.mark.parametrize("samples", [1, 3])
@pytest.mark.parametrize("name", CASES)
def test_functions_over_a_batch_are_those_of_each_sample(
    name: str, samples: int
) -> None:
    case = CASES[name]
    over, one = load(case.spec()), load(case.spec(batched=False))
    given, wrt = case.arguments(samples), case.wrt.split(", ")
    batch = case.batch.split()
    directions = {f"d{x}": v for x, v in case.arguments(samples, 1).items() if x in wrt}
    for emitted in (x for x in one.__all__ if x.islower()):
        args = dict(given)
        if emitted.endswith(("hvp", "jvp")):
            args |= directions
        if emitted.endswith("vjp"):
            args["ct"] = np.random.default_rng(5).normal(size=over.f(**given).shape)
        rows = [
            _of_one(
                emitted,
                one,
                {
                    x: v[k] if x.removeprefix("d") in batch or x == "ct" else v
                    for x, v in args.items()
                },
                wrt,
            )
            for k in range(samples)
        ]
        found = _of_one(emitted, over, args, wrt)
        for own, each in zip(found, zip(*rows, strict=True), strict=True):
            _close(own, np.stack(each))


MIXED = """\
tensorgen: 1
inputs:
  x: {shape: [n], batch: [B]}
  w: [n]
functions:
  f:
    expr:
      loss: sum((w * x)**4)
      scaled: w * x
    wrt: x
    emit: [value, gradient, jacobian, hessian]
  penalty: {expr: sum(w**2), wrt: w, emit: [hessian, problem]}
  total: sum(x) + penalty
"""


def test_docstrings_state_shapes_with_the_axis_of_samples() -> None:
    module = load(MIXED)
    told = module.f_value_grad_hess.__doc__
    assert "by sample" in told
    for text in ("loss: array, shape (B,)", "scaled: array, shape (B, n)"):
        assert text in told
    told = " ".join(told.split())
    assert "Hessian: a tuple with the fields loss: array, shape (B, n, n)" in told
    assert "scaled: array, shape (B, n, n)" in module.f_jac.__doc__
    assert "Arguments: x (B, n), w (n,)" in told
    assert "Of one sample:" in module.f.__doc__


def test_functions_that_read_no_batch_are_what_they_are_without() -> None:
    module = load(MIXED)
    w = np.array([1.0, 2.0])
    assert module.penalty_hess(w).structure.startswith("diagonal")
    assert module.PenaltyProblem().value(w) == 5
    assert np.array_equal(module.total(np.ones((3, 2)), w), [7, 7, 7])


def test_a_batch_may_be_empty() -> None:
    case = CASES["normal"]
    module, given = load(case.spec()), case.arguments(0)
    value, gradient, hessian = module.f_value_grad_hess(**given)
    assert value.shape == (0,)
    assert gradient.m.shape == (0, 3)
    assert hessian["x", "m"].shape == (0, 3, 3)


def test_batches_of_unequal_lengths_are_refused() -> None:
    case = CASES["logistic"]
    module, given = load(case.spec()), case.arguments(4)
    given["y"] = given["y"][:3]
    with pytest.raises(ValueError, match=r"y: expected shape \(B,\) = \(4,\), got"):
        module.f(**given)


def _peak(module: Any, given: dict[str, Array]) -> int:
    tracemalloc.start()
    module.f_hess(**given)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("name", ["network", "evidence", "controlled"])
def test_memory_grows_as_samples_do_and_not_as_their_square(name: str) -> None:
    case = CASES[name]
    module = load(case.spec())
    few, many = (_peak(module, case.arguments(count)) for count in (200, 800))
    assert many < 5 * few


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("name", ["normal", "huber", "attention"])
def test_each_mode_gives_the_same_over_a_batch(name: str, mode: str) -> None:
    case = CASES[name]
    given, wrt = case.arguments(3), case.wrt.split(", ")
    one, other = load(case.spec()), load(case.spec(), mode=mode)
    for emitted in (x for x in one.__all__ if x.endswith(("grad", "jac", "hess"))):
        pairs = zip(
            *(_of_one(emitted, module, given, wrt) for module in (one, other)),
            strict=True,
        )
        for found, wanted in pairs:
            _close(found, wanted)


@pytest.mark.parametrize("name", CASES)
def test_modules_for_cupy_give_the_same_over_a_batch(name: str) -> None:
    case = CASES[name]
    _, theirs = both(case.spec())
    ours, given, wrt = load(case.spec()), case.arguments(3), case.wrt.split(", ")
    more = {f"d{x}": v for x, v in case.arguments(3, 1).items()}
    more["ct"] = np.cos(np.ones(ours.f(**given).shape))
    with stand_in() as cupy:
        module = execute(theirs)
        for emitted in (x for x in ours.__all__ if x.islower()):
            names = inspect.signature(getattr(ours, emitted)).parameters
            args = {x: v for x, v in (given | more).items() if x in names}
            arrays = {x: cupy.asarray(v) for x, v in args.items()}
            found = _of_one(emitted, module, arrays, wrt)
            wanted = _of_one(emitted, ours, args, wrt)
            for own, other in zip(found, wanted, strict=True):
                _close(own.get(), other)


def test_checkpoints_of_all_samples_are_those_of_each() -> None:
    case = CASES["path"]
    cut = case.spec().replace(f"[{case.emit}]", "[gradient]")
    cut = cut.replace("    expr:", "    checkpoint: sqrt\n    expr:")
    cut = cut.replace("sum(x**2)", "sum(x[T]**2)").replace("[A, x0]", "[A, x0, u]")
    given = case.arguments(3)
    found = load(cut).f_grad(**given)
    wanted = load(cut.replace("    checkpoint: sqrt\n", "")).f_grad(**given)
    for own, other in zip(found, wanted, strict=True):
        _close(own, other)
