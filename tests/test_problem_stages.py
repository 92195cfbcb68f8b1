"""What problems compute once, once a point, and for each direction."""

from __future__ import annotations

import ast
import functools
import textwrap
import types
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.problem_specs import KRONECKER, LOGISTIC, PROCESS, RIDGE, WEIGHTED, loaded


@functools.cache
def classes(text: str) -> dict[str, ast.ClassDef]:
    """The problem class of a spec, `problem`, and that of its points, `point`."""
    found = [
        node
        for node in ast.parse(tensorgen.generate(text)).body
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Problem", "Point"))
    ]
    problem, point = found
    return {"problem": problem, "point": point}


def methods(text: str) -> dict[str, str]:
    """The statements of all methods of both classes, by the methods' names."""
    return {
        ("point" if kind == "point" and node.name == "__init__" else node.name): (
            "\n".join(map(ast.unparse, node.body[isinstance(node.body[0], ast.Expr) :]))
        )
        for kind, owner in classes(text).items()
        for node in owner.body
        if isinstance(node, ast.FunctionDef)
        and (kind == "point" or node.name in ("_follow", "hvp"))
    }


# What does not depend on the unknowns


def test_the_constant_hessian_of_ridge_regression_is_computed_once() -> None:
    texts = methods(RIDGE)
    assert (
        "Xt_X = X.T @ X" in texts["_follow"] and "data.hess = hess" in texts["_follow"]
    )
    assert [name for name, text in texts.items() if "X.T @ X\n" in text] == ["_follow"]
    problem = classes(RIDGE)["problem"]
    hvp = next(m for m in problem.body if getattr(m, "name", "") == "hvp")
    assert "self._at(v).hessian @ d" in ast.unparse(hvp)


def test_factors_of_a_constant_hessian_are_computed_once() -> None:
    texts = methods(KRONECKER)
    assert "A.T @ A" in texts["_follow"] and "B @ B.T" in texts["_follow"]
    assert "@" not in texts["hessian"]


def test_directions_are_multiplied_by_what_the_hessian_holds_in_any_case() -> None:
    text = WEIGHTED % (1000, "hessian, problem")
    texts = methods(text)
    assert "X.T @ (s[:, None] * X)" in texts["_follow"]
    assert "X_s_X @ dw" in texts["hvp"] and "X.T" not in texts["hvp"]


def test_sizes_decide_what_to_compute_once() -> None:
    few, many = (methods(WEIGHTED % (n, "problem")) for n in (10, 1000))
    assert "X.T @ (s[:, None] * X)" in few["_follow"] and "X.T" not in few["hvp"]
    assert "_follow" not in many
    assert "X.T @ (s * (X @ dw))" in many["hvp"]


def test_a_residual_is_not_expanded_into_a_difference_of_large_numbers() -> None:
    # X @ w agrees with y in all digits: (X.T @ X) @ w - X.T @ y would keep none.
    rng = np.random.default_rng(0)
    data = rng.normal(size=(50, 4)) * np.logspace(0, 6, 4)
    w = rng.normal(size=4)
    model = loaded(RIDGE)
    p = model.LossProblem(X=data, y=data @ w, lam=0.0)
    assert (p.gradient(w) == model.loss_grad(w, data, data @ w, lam=0.0)).all()
    assert "X.T @ residual" in methods(RIDGE)["gradient"]


def test_functions_of_the_data_are_computed_once() -> None:
    text = """
    tensorgen: 1
    inputs: {x: scalar, A: [n, n], B: [n], c: [n]}
    functions:
      f: {expr: 'x * log(B)[0] + sum(exp(x * c) * (B + sqrt(B)) * B) + x * logdet(A)',
          wrt: x, emit: [problem]}
    """
    texts = methods(textwrap.dedent(text))
    rest = "\n".join(body for name, body in texts.items() if name != "_follow")
    for function in ("np.sqrt", "np.log", "np.linalg.slogdet"):
        assert f"{function}(" in texts["_follow"]
        assert f"{function}(" not in rest
    assert "np.exp(" in rest


def test_a_copy_of_the_data_is_not_held_to_save_a_scaling() -> None:
    texts = methods(LOGISTIC)
    assert "[:, None] * X" not in texts["_follow"]


# What methods share at a point


class Counted(np.ndarray):
    """An array that counts what it takes part in, by the name of the function."""

    calls: list[str]

    def __array_ufunc__(
        self, ufunc: Any, method: str, *args: Any, **kwargs: Any
    ) -> Any:
        Counted.calls.append(ufunc.__name__)
        plain = [np.asarray(a) if isinstance(a, Counted) else a for a in args]
        if "out" in kwargs:
            kwargs["out"] = tuple(map(np.asarray, kwargs["out"]))
        result = getattr(ufunc, method)(*plain, **kwargs)
        return result.view(Counted) if isinstance(result, np.ndarray) else result


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Logistic regression whose data and everything made of them is counted."""
    model = loaded(LOGISTIC)
    library = types.SimpleNamespace(**{n: getattr(np, n) for n in dir(np)})
    library.asarray = np.asanyarray
    monkeypatch.setattr(model, "np", library)
    rng = np.random.default_rng(1)
    Counted.calls = []
    data = rng.normal(size=(30, 4)).view(Counted)
    return model.LossProblem(X=data, y=rng.normal(size=30).view(Counted))


def calls_of(action: Any) -> dict[str, int]:
    """How often the functions that take time were called."""
    Counted.calls = []
    action()
    watched = ("matmul", "exp", "log1p", "power", "divide")
    return {name: Counted.calls.count(name) for name in watched}


def test_methods_finish_from_what_others_have_computed(counted: Any) -> None:
    v = np.linspace(-1, 1, 5)
    first = calls_of(lambda: counted.value(v))
    assert (first["matmul"], first["exp"], first["log1p"]) == (1, 1, 1)
    second = calls_of(lambda: counted.gradient(v))
    assert (second["matmul"], second["exp"], second["log1p"]) == (1, 0, 0)
    again = calls_of(lambda: counted.value_and_gradient(v.copy()))
    assert not any(again.values())
    # Once for X.T @ (...) of each block; X @ w is there.
    assert calls_of(lambda: counted.hessian(v))["matmul"] == 2
    assert not any(calls_of(lambda: counted.hessian(v)).values())


def test_products_at_one_point_compute_what_depends_on_the_direction(
    counted: Any,
) -> None:
    v = np.linspace(-1, 1, 5)
    calls_of(lambda: counted.hvp(v, v))
    for k in range(3):
        each = calls_of(lambda k=k: counted.hvp(v, v + k))
        assert each.pop("matmul") == 2 and not any(each.values())
    assert calls_of(lambda: counted.hvp(v + 1, v))["matmul"] == 3


def test_a_value_alone_computes_what_shares_its_exponential(counted: Any) -> None:
    first = calls_of(lambda: counted.value(np.ones(5)))
    assert (first["matmul"], first["exp"], first["divide"]) == (1, 1, 2)


def test_a_system_is_solved_for_a_value_and_inverted_for_derivatives() -> None:
    texts = methods(PROCESS)
    at_value = texts["_for_value"] + texts["value"]
    assert "linalg.solve(S, y)" in at_value and "linalg.inv" not in at_value
    inverses = [name for name, text in texts.items() if "linalg.inv(" in text]
    assert inverses == ["_for_gradient"]


def test_stages_are_named_after_the_first_method_that_needs_them() -> None:
    texts = methods(LOGISTIC)
    kept = {
        "_for_value": "softplus_t=softplus_t, sigmoid_t=sigmoid_t, slope_t=slope_t",
        "_for_hessian": "y_squared_slope_t=y_squared_slope_t",
    }
    for name, what in kept.items():
        assert texts[name].endswith(f"return SimpleNamespace({what})")
    assert "_for_hvp" not in texts
