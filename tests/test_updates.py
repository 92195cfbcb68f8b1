"""Data of problems that are replaced: as if the problem had been made with them."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

import numpy as np
import pytest

from tests.device.library import execute, stand_in
from tests.made import generate
from tests.plans.test_problem_plans import host
from tests.problem_specs import PROCESS, RIDGE, SPECS, inputs, loaded

FIT = """
tensorgen: 1
dims: {m: 1000, n: 4}
inputs: {x: [n], A: [m, n], s: [m], y: [m], c: [n]}
functions:
  f:
    expr: sum(s * (A @ x - y)**2) + sum(exp(c)) * x @ exp(c)
    wrt: x
    emit: [gradient, hessian, problem]
"""


def split(text: str, shapes: Any, device: Any) -> tuple[Any, dict[str, Any], Any]:
    """A problem class, data for it, and a vector."""
    # Made anew: each stand-in for CuPy has arrays of its own.
    model = execute(generate(text, "numpy" if device is np.asarray else "cupy"))
    given = {k: device(v) for k, v in inputs(shapes).items()}
    unknowns = list(inspect.signature(model.LossProblem.pack).parameters)[1:]
    data = {name: array for name, array in given.items() if name not in unknowns}
    v = model.LossProblem(**data).pack(**{x: given[x] for x in unknowns})
    return model.LossProblem, data, v


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_an_updated_problem_is_one_made_anew(name: str, backend: str) -> None:
    with stand_in() as cupy:
        device = cupy.asarray if backend == "cupy" else np.asarray
        make, data, v = split(*SPECS[name], device)
        p = make(**data)
        for x, old in data.items():
            p.gradient(v)
            # In reverse, an index array stays one and a definite matrix definite.
            data[x] = device(1.5 * host(old) if x == "lam" else host(old)[::-1].copy())
            if old.ndim == 2:
                data[x] = device(host(data[x])[:, ::-1].copy())
            p.update(**{x: data[x]})
            other = make(**data)
            assert host(p.value(v)) == host(other.value(v)), x
            assert (host(p.gradient(v)) == host(other.gradient(v))).all(), x
            same = host(p.hessian(v).dense()) == host(other.hessian(v).dense())
            assert same.all(), x


def test_only_what_follows_from_new_data_is_computed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = loaded(FIT)
    rng = np.random.default_rng(1)
    given = {"A": rng.normal(size=(9, 4)), "s": np.ones(9), "y": np.ones(9)}
    p = model.FProblem(**given, c=np.ones(4))
    kept = dict(vars(p._data))
    p.update(y=np.zeros(9))
    for name, value in kept.items():
        assert (getattr(p._data, name) is value) == (name != "y"), name
    p.update(c=np.zeros(4))
    computed = [x for x in kept if x not in (*given, "c")]
    renewed = [x for x in computed if getattr(p._data, x) is not kept[x]]
    assert renewed and len(renewed) < len(computed)


def test_data_are_neither_written_to_nor_of_another_shape_or_kind() -> None:
    rng = np.random.default_rng(2)
    X, y, other = rng.normal(size=(9, 4)), np.ones(9), rng.normal(size=(9, 4))
    p, v = loaded(RIDGE).LossProblem(X=X, y=y), np.ones(4)
    copies = X.copy(), other.copy()
    p.hessian(v), p.update(X=other), p.hessian(v)
    assert (copies[0] == X).all() and (other == copies[1]).all()
    value = p.value(v)
    with pytest.raises(ValueError, match=r"^X: expected shape \(9, 4\), got \(8, 4\)$"):
        p.update(X=X[:8], y=y[:8])
    with pytest.raises(ValueError, match=r"^lam: expected shape \(\), got \(2,\)$"):
        p.update(y=2 * y, lam=[1, 2])
    with pytest.raises(TypeError, match=r"^X: expected real numbers .*complex"):
        p.update(X=X * 1j)
    with pytest.raises(TypeError, match="unexpected keyword argument 'w'"):
        p.update(w=v)
    assert p.value(v) == value


def test_new_data_are_in_the_dtype_of_the_old_and_wider_vectors_see_them() -> None:
    rng = np.random.default_rng(3)
    X, y, v = rng.normal(size=(9, 4)), rng.normal(size=9), np.ones(4)
    model = loaded(RIDGE)
    p = model.LossProblem(X=X.astype("f4"), y=y.astype("f4"))
    p.value(v)
    p.update(y=2 * y, lam=3)
    assert p.value(v.astype("f4")).dtype == np.float32
    narrow = X.astype("f4").astype(float), (2 * y).astype("f4").astype(float)
    assert p.value(v) == model.LossProblem(X=narrow[0], y=narrow[1], lam=3).value(v)


def test_new_index_arrays_are_checked() -> None:
    make, data, v = split(*SPECS["ratings"], np.asarray)
    p = make(**data)
    value = p.value(v)
    with pytest.raises(ValueError, match=r"^row: expected indices from 0 to 3, got"):
        p.update(row=data["row"] + 1)
    with pytest.raises(TypeError, match=r"^row: expected integers"):
        p.update(row=data["t"])
    assert p.value(v) == value
    p.update(row=data["row"].astype("i4"))
    assert p.value(v) == value


def test_a_wrong_array_among_others_changes_nothing() -> None:
    make, data, v = split(PROCESS, SPECS["process"][1], np.asarray)
    p = make(**data)
    value = p.value(v)
    with pytest.raises(ValueError, match=r"^y: expected"):
        p.update(K=np.eye(5), y=np.ones(3))
    assert p.value(v) == value


def test_values_that_follow_from_sizes_alone_stay() -> None:
    text = """
    tensorgen: 1
    inputs: {x: [n], a: [n], data: scalar}
    functions:
      f:
        where: |
          changed[i] = exp(a[i])
        expr: sum(x[i] * sqrt(i), i) + sum(exp(x * changed)) * data
        wrt: x
        emit: [value, gradient, problem]
    """
    model = loaded(textwrap.dedent(text))
    rng = np.random.default_rng(4)
    a, b, v = rng.normal(size=(3, 5))
    p = model.FProblem(a=a, data=2.0)
    p.update(a=b)
    p.update(data=3.0)
    assert p.value(v) == model.f(v, b, 3.0)
    assert (p.gradient(v) == model.f_grad(v, b, 3.0)).all()
    assert not hasattr(loaded(NO_DATA).FProblem, "update")


NO_DATA = """
tensorgen: 1
inputs: {x: [n]}
functions: {f: {expr: sum(x**4), wrt: x, emit: [problem]}}
"""
