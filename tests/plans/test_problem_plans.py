"""Problems from specs: equal to their functions, and what solvers need."""

from __future__ import annotations

import inspect
import random
import sys
import textwrap
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.device.library import stand_in
from tests.problem_specs import (
    FIT,
    LOGISTIC,
    NETWORK,
    RIDGE,
    SPECS,
    WEIGHTED,
    inputs,
    loaded,
)


def host(array: Any) -> Any:
    """An array as one of NumPy."""
    return array.get() if hasattr(array, "get") else array


def flat(parts: Any) -> Any:
    """A gradient or the like as one vector."""
    parts = parts if isinstance(parts, tuple) else (parts,)
    return np.concatenate([np.ravel(host(part)) for part in parts])


# Equal to the plain functions


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_a_problem_equals_its_functions_whatever_is_called_first(
    name: str, backend: str
) -> None:
    text, shapes = SPECS[name]
    with stand_in() as cupy:
        model = loaded(text, backend=backend)
        device = cupy.asarray if backend == "cupy" else np.asarray
        check_all(model, {k: device(v) for k, v in inputs(shapes).items()}, device)


def check_all(model: ModuleType, given: dict[str, Any], device: Any) -> None:
    """Compare at random points, what is called in random order."""
    problem = model.LossProblem
    unknowns = list(inspect.signature(problem.pack).parameters)[1:]
    p = problem(**{x: a for x, a in given.items() if x not in unknowns})
    rng, order = np.random.default_rng(3), random.Random(4)
    v = host(p.pack(**{x: given[x] for x in unknowns}))

    def named(parts: Any, prefix: str = "") -> dict[str, Any]:
        parts = parts if isinstance(parts, tuple) else (parts,)
        return {prefix + x: part for x, part in zip(unknowns, parts, strict=True)}

    def both(name: str, v: Any, d: Any) -> tuple[Any, Any]:
        at = given | named(p.unpack(v))
        match name:
            case "value":
                return p.value(v), model.loss(**at)
            case "gradient":
                return p.gradient(v), flat(model.loss_grad(**at))
            case "value_and_gradient":
                return p.value_and_gradient(v)[1], flat(model.loss_grad(**at))
            case "hessian":
                return p.hessian(v).dense(), model.loss_hess(**at).dense()
        along = named(p.unpack(d), "d")
        return p.hvp(v, d), flat(model.loss_hvp(**at, **along))

    names = ["value", "gradient", "value_and_gradient", "hessian", "hvp", "hvp"]
    for _ in range(6):
        v = device(host(v) + 0.1 * rng.normal(size=v.shape))
        order.shuffle(names)
        for name in names:
            got, want = map(host, both(name, v, device(rng.normal(size=v.shape))))
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=name)


# What a problem offers


def test_a_vector_function_has_a_value_and_a_jacobian() -> None:
    from scipy.optimize import least_squares

    model = loaded(FIT)
    rng = np.random.default_rng(2)
    t, P = np.linspace(0, 2, 40), rng.normal(size=(40, 3))
    a, c = np.float64(0.7), np.array([1.0, -2.0, 0.5])
    p = model.ResidualProblem(t=t, P=P, y=np.exp(-a * t) * (P @ c))
    v = p.pack(a=a, c=c)
    assert not hasattr(p, "gradient") and not hasattr(p, "hvp")
    J = p.jacobian(v + 1)
    step = 1e-6 * np.eye(4)
    slopes = [(p.value(v + 1 + s) - p.value(v + 1 - s)) / 2e-6 for s in step]
    assert np.allclose(J.dense(), np.transpose(slopes), atol=1e-6)
    found = least_squares(
        p.value, v + 0.3, jac=lambda x: p.jacobian(x).as_linear_operator()
    )
    assert np.allclose(found.x, v, atol=1e-6)
    p.value(v)[:] = 0
    assert p.value(v + 1).any() and np.allclose(p.value(v), 0)


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov"])
def test_solvers_take_a_problem_as_it_is(method: str) -> None:
    from scipy.optimize import minimize

    given = inputs(SPECS["logistic"][1])
    p = loaded(LOGISTIC).LossProblem(X=given["X"], y=given["y"])
    found = minimize(
        p.value_and_gradient, np.zeros(5), jac=True, hessp=p.hvp, method=method
    )
    v = np.zeros(5)
    for _ in range(10):
        v = v - p.hessian(v).solve(p.gradient(v))
    assert np.allclose(found.x, v, atol=1e-4)


def test_a_problem_alone_offers_everything_and_no_functions() -> None:
    text = """
    tensorgen: 1
    inputs: {x: [n]}
    functions: {f: {expr: sum(x**4) + sum(x), wrt: x, emit: problem}}
    """
    model = loaded(textwrap.dedent(text))
    assert model.__all__ == ["FProblem"]
    p, v = model.FProblem(), np.array([1.0, 2.0, 3.0])
    assert p.value(v) == 104
    assert p.gradient(v).tolist() == [5, 33, 109]
    assert np.allclose(p.hessian(v) @ v, p.hvp(v, v))
    assert p.hvp(v, v[:, None]).tolist() == [12, 96, 324]


def test_without_a_hessian_among_the_emits_a_problem_has_products_only() -> None:
    source = tensorgen.generate(WEIGHTED % (1000, "problem"))
    assert "def hvp(" in source and "def hessian(" not in source
    assert "_Matrix" not in source


def test_modules_without_problems_hold_no_trace_of_them() -> None:
    source = tensorgen.generate(RIDGE.replace(", problem", ""))
    for word in ("SimpleNamespace", "accumulate", "Problem", "Point"):
        assert word not in source


def test_inputs_may_bear_the_names_of_methods() -> None:
    text = """
    tensorgen: 1
    inputs: {data: [n], value: [m, n], given: [m], hessian: scalar, point: [n]}
    functions:
      f:
        expr: sum(log(1 + exp(value @ data - given))) + hessian * sum((data * point)**2)
        wrt: [data, hessian]
        emit: [problem]
    """
    p = loaded(textwrap.dedent(text)).FProblem(
        value=np.eye(2), given=np.ones(2), point=np.ones(2)
    )
    v = np.array([1.0, 2.0, 3.0])
    t = v[:2] - 1
    assert np.isclose(p.value(v), np.logaddexp(0, t).sum() + 3 * 5)
    assert np.allclose(p.gradient(v), [*(1 / (1 + np.exp(-t)) + 6 * v[:2]), 5])
    assert np.allclose(p.hvp(v, v), p.hessian(v) @ v)


def test_a_gradient_that_is_part_of_the_data_is_handed_out_as_a_copy() -> None:
    text = """
    tensorgen: 1
    inputs: {x: [n], a: [n]}
    functions: {f: {expr: a @ x, wrt: x, emit: [problem]}}
    """
    data = np.array([1.0, 2.0])
    p = loaded(textwrap.dedent(text)).FProblem(a=data)
    p.gradient(data)[:] = 0
    assert p.gradient(data).tolist() == data.tolist() == [1, 2]
    assert p.hvp(data, data).tolist() == [0, 0]


def test_wider_vectors_find_products_of_the_data_in_their_dtype() -> None:
    given = inputs(SPECS["ridge"][1])
    X, y = given["X"].astype("f4"), given["y"].astype("f4")
    model = loaded(RIDGE)
    p = model.LossProblem(X=X, y=y)
    v = given["w"]
    for _ in range(2):
        assert p.hessian(v.astype("f4")).dtype == np.float32
        wide = p.hessian(v)
        assert wide.dtype == np.float64
        assert (wide.dense() == model.loss_hess(v, X, y).dense()).all()


def test_a_wrong_dtype_of_a_vector_is_refused() -> None:
    p = loaded(RIDGE).LossProblem(X=np.eye(2), y=np.ones(2))
    with pytest.raises(TypeError, match=r"^v: expected real numbers .*complex"):
        p.value(np.ones(2) * 1j)
    with pytest.raises(ValueError, match=r"^d: expected shape \(2,\), got \(3,\)"):
        p.hvp(np.ones(2), np.ones(3))


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_problems_follow_the_mode(mode: str) -> None:
    from tensorgen.errors import Source
    from tensorgen.pipeline import compile_spec

    (source,) = compile_spec(Source("a.yaml", NETWORK), ["numpy"], mode).values()
    model = ModuleType(f"problem_{mode}")
    sys.modules[model.__name__] = model
    exec(compile(source, model.__name__, "exec"), model.__dict__)
    check_all(model, inputs(SPECS["network"][1]), np.asarray)


# Points


def test_a_point_is_the_last_one_where_its_bits_are() -> None:
    text = """
    tensorgen: 1
    inputs: {x: [n]}
    functions: {f: {expr: sum(1 / x), wrt: x, emit: problem}}
    """
    p = loaded(textwrap.dedent(text)).FProblem()
    with np.errstate(divide="ignore", invalid="ignore"):
        zeros = [p.value(np.array([zero])) for zero in (0.0, -0.0)]
        assert zeros == [np.inf, -np.inf]
        nowhere = np.array([np.nan, 1.0])
        assert p._at(nowhere) is p._at(nowhere.copy())
    with pytest.raises(ValueError, match=r"expected shape \(2,\), got \(1, 2\)"):
        p.value(nowhere[None])


def test_whatever_a_vector_is_its_entries_are_what_counts() -> None:
    text = """
    tensorgen: 1
    inputs: {x: [n], X: [m, n], c: scalar}
    functions: {f: {expr: c * sum(exp(X @ x)), wrt: x, emit: problem}}
    """
    X, c = np.ones((2, 3)), 0.5
    p = loaded(textwrap.dedent(text)).FProblem(X=X, c=c)
    wide = np.arange(6.0)
    for v in (wide[::2], [0, 2, 4], wide[:3], wide[:3].astype(np.float32)):
        want = 2 * c * np.exp(np.sum(v))
        value, gradient = p.value_and_gradient(v)
        assert value == pytest.approx(want) and gradient == pytest.approx(want)
    v = np.zeros(3)
    first = p._at(v)
    assert p.value(v) == 2 * c and p._at(v) is first and p._at(v.copy()) is first
    v[1] = np.log(2)  # in place
    assert p.value(v) == pytest.approx(4 * c) and p._at(v) is not first
    gradient = p.gradient(v)
    gradient[:] = 0
    assert p._at(v).gradient is p._at(v).gradient and p.gradient(v).any()
    with pytest.raises(TypeError, match="masked"):
        p.value(np.ma.masked_array(v, [True, False, False]))
    with pytest.raises(ValueError, match=r"expected shape \(3,\), got \(2,\)"):
        p.value(v[1:])


def test_numbers_among_the_data_are_no_arrays() -> None:
    text = """
    tensorgen: 1
    inputs: {x: [n], c: scalar}
    functions: {f: {expr: c * sum(x**2), wrt: x, emit: problem}}
    """
    made = loaded(textwrap.dedent(text)).FProblem
    for c in (2, 2.0, np.array(2.0), np.float32(2)):
        p = made(c=c)
        assert isinstance(p._data.c, np.floating) and p.value([1.0]) == 2
        p.update(c=np.array(3))
        assert isinstance(p._data.c, np.floating) and p.value([1.0]) == 3


@pytest.mark.parametrize(
    ("inputs", "shapes", "wrong"),
    [
        ("a: scalar, W: [n, 2], b: [n]", {"a": (), "W": (3, 2), "b": (3,)}, 11),
        ("W: [n, 2], a: scalar", {"W": (4, 2), "a": ()}, 8),
        ("b: [n], S: [2, 2, 2], c: [3]", {"b": (2,), "S": (2, 2, 2), "c": (3,)}, 10),
        ("A: [n, n], B: [n, n]", {"A": (2, 2), "B": (2, 2)}, 9),
    ],
)
def test_parts_of_a_vector_come_back_as_they_were_packed(
    inputs: str, shapes: dict[str, tuple[int, ...]], wrong: int
) -> None:
    terms = " + ".join(f"sum({name}**2)" for name in shapes)
    text = f"""
    tensorgen: 1
    inputs: {{{inputs}}}
    functions: {{f: {{expr: {terms}, wrt: [{", ".join(shapes)}], emit: problem}}}}
    """
    p = loaded(textwrap.dedent(text)).FProblem()
    rng = np.random.default_rng(1)
    given = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    v = p.pack(**given)
    for part, (name, array) in zip(p.unpack(v), given.items(), strict=True):
        assert part.shape == array.shape and np.array_equal(part, array), name
    assert np.allclose(p.gradient(v), 2 * v)
    with pytest.raises(ValueError, match="v: "):
        p.value(np.zeros(wrong))
