"""Random sums without hints: whichever form sizes choose, it is the Hessian."""

from __future__ import annotations

import random
from math import prod
from typing import Any

import numpy as np
import pytest

from tensorgen import load
from tensorgen.prices.limits import FORMS
from tensorgen.prices.thresholds import GAIN_OF_A_FORM, LARGEST_ARGUMENT
from tensorgen.structure import alternatives
from tests.structure.planned_forms import chosen, hinted, planned

pytestmark = pytest.mark.thorough

SIZES = (1, 2, 3, 5, 8)
MODELLED = (2, 30, 1000, 100_000)
# Terms of a function of a vector and of a matrix, and what else they are made of.
VECTOR = {
    "sum(cosh(x))": {},
    "norm(V.T @ x)**2": {"V": "n r"},
    "x @ A @ x": {"A": "n n"},
    "sum(exp(X @ x))": {"X": "m n"},
    "norm(B @ (C @ x))**2": {"B": "q p", "C": "p n"},
    "sum((x[1:] - x[:-1])**2)": {},
    "(b @ x)**2": {"b": "n"},
    "sum(d*x**4)": {"d": "n"},
    "sum(w[e]*(x[s[e]] - x[t[e]])**2, e)": {"w": "E", "s": "E", "t": "E"},
    "logsumexp(X @ x)": {"X": "m n"},
}
MATRIX = {
    "sum(O * (T - U @ W.T)**2)": {"O": "m n", "T": "m n", "W": "n k"},
    "norm(U)**2": {},
    "norm(P @ U @ Q)**2": {"P": "a m", "Q": "k c"},
    "sum(cosh(U))": {},
    "sum((U @ g)**2)": {"g": "k"},
    "sum(logsumexp(X @ U, axis=1))": {"X": "s m"},
    "sum(Y * (X @ U))**2": {"X": "s m", "Y": "s k"},
}
INDICES = ("s", "t")


def terms(seed: int) -> tuple[str, str, dict[str, str]]:
    """A function, its variable, and the dims of its inputs."""
    chance = random.Random(seed)
    pool, name, dims = [(VECTOR, "x", "n"), (MATRIX, "U", "m k")][seed % 2]
    chosen = chance.sample(sorted(pool), chance.choice((1, 2, 2, 3)))
    inputs = {name: dims}
    for term in chosen:
        inputs |= pool[term]
    return " + ".join(chosen), name, inputs


def spec(seed: int, emit: str) -> str:
    expr, name, inputs = terms(seed)
    shapes = {
        key: f"{{shape: [{', '.join(dims.split())}]{', index: n' * (key in INDICES)}}}"
        for key, dims in inputs.items()
    }
    return (
        "tensorgen: 1\ninputs:\n"
        + "".join(f"  {key}: {shape}\n" for key, shape in shapes.items())
        + f"functions:\n  f:\n    expr: '{expr}'\n    wrt: {name}\n"
        + f"    emit: [{emit}]\n"
    )


def arguments(inputs: dict[str, str], chance: random.Random) -> dict[str, Any]:
    sizes = {dim: chance.choice(SIZES) for dim in "acEkmnpqrs"}
    numbers = np.random.default_rng(chance.getrandbits(32))
    return {
        name: (
            numbers.integers(0, sizes["n"], sizes["E"])
            if name in INDICES
            else numbers.normal(size=[sizes[dim] for dim in dims.split()]) / 2
        )
        for name, dims in inputs.items()
    }


@pytest.mark.parametrize("seed", range(10))
def test_the_form_that_sizes_choose_is_the_hessian(seed: int) -> None:
    _, name, inputs = terms(seed)
    module = load(spec(seed, "hessian, dense_hessian, problem"))
    chance = random.Random(seed)
    for _ in range(6):
        given = arguments(inputs, chance)
        hessian = module.f_hess(**given)
        matrix = module.f_hess_dense(**given).reshape(hessian.shape)
        near = {"rtol": 1e-9, "atol": 1e-9 * (1 + abs(matrix).max())}
        np.testing.assert_allclose(np.asarray(hessian), matrix, **near)
        b = np.linspace(-1, 1, len(matrix))
        np.testing.assert_allclose(hessian @ b, matrix @ b, **near)
        np.testing.assert_allclose(
            hessian.diagonal().ravel(), matrix.diagonal(), **near
        )
        rows, columns, values = hessian.coo()
        added = np.zeros_like(matrix)
        np.add.at(added, (rows, columns), values)
        np.testing.assert_allclose(added, matrix, **near)
        if np.linalg.cond(matrix) < 1e6:
            np.testing.assert_allclose(matrix @ hessian.solve(b), b, atol=1e-6)
        data = {key: value for key, value in given.items() if key != name}
        problem = module.FProblem(**data)
        other = problem.hessian(problem.pack(given[name]))
        assert other.structure == hessian.structure
        np.testing.assert_allclose(np.asarray(other), matrix, **near)


def possible(seed: int, count: int) -> list[dict[str, int]]:
    """Sizes at which each input fits into memory."""
    chance, inputs = random.Random(seed), terms(seed)[2].values()
    dims = sorted({dim for own in inputs for dim in own.split()})
    found: list[dict[str, int]] = []
    while len(found) < count:
        sizes = {dim: chance.choice(MODELLED) for dim in dims}
        numbers = [prod(sizes[d] for d in own.split()) for own in inputs]
        if max(numbers) <= LARGEST_ARGUMENT:
            found.append(sizes)
    return found


@pytest.mark.parametrize("seed", range(24))
def test_sizes_choose_about_what_hints_would(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alternatives, "FORMS", 100)
    text = spec(seed, "hessian")
    hessian = planned(text)
    for sizes in possible(seed, 6):
        assert chosen(hessian, sizes) <= GAIN_OF_A_FORM * hinted(text, sizes)


@pytest.mark.parametrize("seed", range(24))
def test_more_than_a_few_forms_are_not_emitted(seed: int) -> None:
    text = spec(seed, "hessian")
    hessian = planned(text)
    assert 1 + len(hessian.others) <= FORMS
    if 1 + len(hessian.others) < FORMS:
        for sizes in possible(seed, 6):
            assert chosen(hessian, sizes) <= GAIN_OF_A_FORM * hinted(text, sizes)
