"""Functions over blocks of rows are what they are of all rows at once."""

from __future__ import annotations

import inspect
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import combinations
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.row_blocks.models import CASES, MODELS, Model, cut, data
from tests.sampled import left

ROWS = 29
CUTS = {
    "one by one": [*range(1, ROWS + 1)],
    "of seven": [7, 14, 21, 28, 29],
    "all": [ROWS],
    "with empty ones": [0, 0, 5, 5, 11, ROWS, ROWS],
}


@cache
def module(model: Model) -> ModuleType:
    return tensorgen.load(model.spec())


def both(model: Model, ends: list[int], offset: float = 0.0) -> tuple[Any, Any, Any]:
    """The problem with all rows, the one over blocks, and a point."""
    made, values = module(model), data(model, ROWS, offset=offset)
    taken = inspect.signature(made.FProblem).parameters
    known = {x: values[x] for x in taken}
    whole, blocks = made.FProblem(**known), cut(model, values, ends)
    blocks = [{x: v for x, v in own.items() if x in taken} for own in blocks]
    plain = {x: v for x, v in known.items() if x not in blocks[0]}
    over = made.FProblem.over(blocks, **plain)
    return whole, over, whole.pack(**{x: values[x] for x in _wrt(model)})


def _wrt(model: Model) -> list[str]:
    return model.wrt.strip("[]").split(", ")


def close(a: Any, b: Any, digits: float = 1e-12) -> bool:
    scale = max(float(np.max(np.abs(b))), 1e-300)
    return bool(np.max(np.abs(np.asarray(a) - np.asarray(b))) <= digits * scale)


@pytest.mark.parametrize("ends", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("name", CASES)
def test_blocks_give_what_all_rows_give(name: str, ends: list[int]) -> None:
    whole, over, v = both(MODELS[name], ends)
    d = np.linspace(-1, 2, v.size)
    value, gradient = over.fun_and_grad(v)
    assert close(value, whole.value(v)) and close(gradient, whole.gradient(v))
    assert close(over.hess(v) @ d, whole.hessian(v) @ d, 1e-11)
    assert close(over.hvp(v, d), whole.hvp(v, d), 1e-11)


@pytest.mark.parametrize(
    "name", [left("variance"), "soft maximum", left("pearson"), "standardised"]
)
def test_no_digits_are_lost_far_from_zero(name: str) -> None:
    model = MODELS[name]
    near, _, v = both(model, CUTS["of seven"])
    _, over, _ = both(model, CUTS["of seven"], offset=2.0**20)
    # All of these are as they were, or only moved: rows are centred, or shares.
    assert close(over.hess(v).dense(), near.hessian(v).dense(), 1e-8)


@pytest.mark.parametrize("name", CASES)
def test_the_rounds_are_as_few_as_they_can_be(name: str) -> None:
    model = MODELS[name]
    pieces = module(model).FOver._ways["value_and_gradient"]
    assert len(pieces[0]) == model.rounds


def test_whatever_maps_the_bits_are_the_same() -> None:
    model = MODELS["softmax"]
    _, over, v = both(model, CUTS["one by one"])
    with ThreadPoolExecutor(3) as pool:
        threads = module(model).FProblem.over(over._blocks, map=pool.map)
        assert threads.fun(v) == over.fun(v)
        assert np.array_equal(threads.grad(v), over.grad(v))
        assert np.array_equal(threads.hess(v) @ v, over.hess(v) @ v)


def test_a_block_may_be_a_call_that_reads_it() -> None:
    model = MODELS["logistic"]
    _, over, v = both(model, CUTS["of seven"])
    calls = [lambda block=block: block for block in over._blocks]
    assert module(model).FProblem.over(calls).fun(v) == over.fun(v)


def test_no_rows_are_kept_between_rounds() -> None:
    model = MODELS["standardised"]
    _, over, v = both(model, CUTS["of seven"])
    read: list[weakref.ref[Any]] = []

    def again(block: Any) -> Any:
        found = {name: array.copy() for name, array in block.items()}
        read.extend(map(weakref.ref, found.values()))
        return found

    calls = [partial(again, block) for block in over._blocks]
    streamed = module(model).FProblem.over(calls)
    assert streamed.fun(v) == over.fun(v)
    assert read and not [array for array in read if array() is not None]


def test_vectors_are_checked_and_packed_as_with_all_rows() -> None:
    whole, over, v = both(MODELS["softmax"], CUTS["of seven"])
    assert np.array_equal(over.unpack(v), whole.unpack(v))
    assert np.array_equal(over.pack(W=over.unpack(v)), v)
    with pytest.raises(ValueError, match=r"v: expected shape \(12,\), got \(11,\)"):
        over.fun(v[1:])
    with pytest.raises(ValueError, match=r"W: expected shape \(4, 3\), got \(3, 4\)"):
        over.pack(np.ones((3, 4)))


@pytest.mark.parametrize("name", ["logistic", "numbered", "soft maximum"])
def test_an_error_in_a_block_says_which(name: str) -> None:
    model = MODELS[name]
    _, over, v = both(model, CUTS["of seven"])
    blocks = [*over._blocks]
    blocks[3] = {**blocks[3], "y": blocks[3]["y"] + 1j}
    broken = module(model).FProblem.over(blocks)
    with pytest.raises(TypeError, match="y: expected real numbers") as caught:
        broken.fun(v)
    assert caught.value.__notes__ == ["in block 3"]


def test_value_and_gradient_take_one_pass() -> None:
    model, count = MODELS["logistic"], 0
    _, over, v = both(model, CUTS["of seven"])

    def read(block: Any) -> Any:
        nonlocal count
        count += 1
        return block

    calls = [lambda block=block: read(block) for block in over._blocks]
    again = module(model).FProblem.over(calls)
    count = 0
    again.fun(v), again.grad(v), again.fun_and_grad(v)
    assert count == len(calls)


def test_totals_are_joined_and_saved() -> None:
    model = MODELS["soft maximum"]
    made, values = module(model), data(model, ROWS)
    parts = [
        made.f_partial1(values["w"], **block)
        for block in cut(model, values, CUTS["of seven"])
    ]
    kept = [pickle.loads(pickle.dumps(tuple(part))) for part in parts]
    first, *others = (type(parts[0])(*part) for part in kept)
    for other in others:
        first = first.joined(other)
    found = made.f_finish(values["w"], **first._asdict())
    assert close(found, made.f(values["w"], values["X"], values["y"]))


def test_random_blocks_are_right_in_the_mean() -> None:
    model = MODELS["logistic"]
    whole, over, v = both(model, CUTS["of seven"])

    class Chosen:
        def __init__(self, places: tuple[int, ...]) -> None:
            self.places = places

        def choice(self, *_: Any, **__: Any) -> tuple[int, ...]:
            return self.places

    every = combinations(range(5), 2)
    found = [over.sample(Chosen(x), 2).fun_and_grad(v) for x in every]
    assert close(np.mean([value for value, _ in found]), whole.value(v))
    assert close(np.mean([g for _, g in found], axis=0), whole.gradient(v))


def test_random_blocks_of_what_is_no_sum_are_refused() -> None:
    _, over, _ = both(MODELS["soft maximum"], CUTS["of seven"])
    with pytest.raises(ValueError, match="takes several passes"):
        over.sample(np.random.default_rng(0))


def test_no_blocks_are_refused() -> None:
    with pytest.raises(ValueError, match="blocks: expected one at least"):
        module(MODELS["logistic"]).FProblem.over([])


def test_what_has_rows_stays_with_them() -> None:
    text = Model("t = X @ w", "t - logsumexp(t)").spec("value, jacobian")
    made, values = tensorgen.load(text), data(MODELS["logistic"], ROWS)
    w, blocks = values["w"], cut(MODELS["logistic"], values, CUTS["of seven"])
    first, *others = (made.f_partial1(w, X=block["X"]) for block in blocks)
    for other in others:
        first = first.joined(other)
    rows = [made.f_rows(w, block["X"], **first._asdict()) for block in blocks]
    assert close(np.concatenate(rows), made.f(w, values["X"]))


def test_a_block_may_have_fewer_rows_than_all_must_have() -> None:
    made = tensorgen.load(Model("", "X @ w + 0 * y[0]").spec("value"))
    w, X, y = np.ones(2), np.ones((3, 2)), np.ones(3)
    with pytest.raises(ValueError, match="needs 1 <= m"):
        made.f(w, X[:0], y[:0])
    assert np.array_equal(made.f_rows(w, X[:0]), np.zeros(0))
    assert np.array_equal(made.f_rows(w, X), made.f(w, X, y))
