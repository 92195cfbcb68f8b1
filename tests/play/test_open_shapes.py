"""Shapes that follow from an expression, and what was guessed of its variables."""

from __future__ import annotations

from typing import Any

import pytest

import tensorgen
from tensorgen.errors import Source, SpecError
from tensorgen.play.expression_spec import Form, FormError, Made, spec_of
from tensorgen.spec.read import read_spec


def made(expression: str, **more: Any) -> Made:
    return spec_of(Form.read({"expression": expression, **more}))


def shapes(expression: str, **more: Any) -> dict[str, str]:
    return {x.name: x.shape for x in made(expression, **more).variables}


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("x @ A @ x / 2", {"x": "n", "A": "n, n"}),
        ("norm(A @ x - y)**2", {"A": "m, n", "x": "n", "y": "m"}),
        ("sum(log(1 + exp(-y * (X @ w))))", {"y": "m", "X": "m, n", "w": "n"}),
        ("A.T @ y", {"A": "m, n", "y": "m"}),
        ("y @ solve(S, y) + logdet(S)", {"y": "n", "S": "n, n"}),
        ("tr(A @ X.T @ B @ X @ C)", dict(A="m, n", X="k, n", B="k, k", C="n, m")),
        ("norm(A - outer(x, y))**2", {"A": "m, n", "x": "m", "y": "n"}),
        ("norm(A - U @ V.T)**2", {"A": "m, n", "U": "m, k", "V": "n, k"}),
        ("sum(A * diag(x))", {"A": "n, n", "x": "n"}),
        ("sum(A, axis=0) @ x", {"A": "m, n", "x": "n"}),
        ("sum(A, axis=-1) @ x", {"A": "m, n", "x": "m"}),
        ("softmax(A @ x) @ log_softmax(y)", {"A": "m, n", "x": "n", "y": "m"}),
        ("sum(X[i, j] * w[j] * z[i], i, j)", {"X": "m, n", "w": "n", "z": "m"}),
        # By definitions of the prelude, whose bodies are read.
        ("sum(huber(x - y, d))", {"x": "n", "y": "n", "d": ""}),
        ("cross_entropy(X @ W, P)", {"X": "m, n", "W": "n, k", "P": "m, k"}),
        # Broadcasting joins from behind.
        ("sum(tanh(X @ W + v))", {"X": "m, n", "W": "n, k", "v": "k"}),
        ("c * sum(x)", {"c": "", "x": "n"}),
    ],
)
def test_axes_that_must_be_as_long_have_one_name(
    expression: str, wanted: dict[str, str]
) -> None:
    assert shapes(expression) == wanted
    tensorgen.generate(made(expression).text)  # which has proved all of it


def test_sizes_that_an_expression_names_are_sizes_of_shapes() -> None:
    found = made("x @ (A + eye(n)) @ x")
    assert [(x.name, x.shape) for x in found.variables] == [("x", "n"), ("A", "n, n")]
    assert shapes("sum(A @ x) / m", kinds={"m": "size"}, shapes={"A": "m, k"}) == {
        "A": "m, k",
        "x": "k",
        "m": "",
    }


def test_letters_say_the_kind_unless_their_use_or_a_person_does() -> None:
    kinds = {x.name: x.kind for x in made("c + x @ y + sum(A) + lam").variables}
    assert kinds == dict(c="scalar", x="vector", y="vector", A="matrix", lam="scalar")
    kinds = {x.name: x.kind for x in made("a @ b + det(k) + alpha[i]").variables}
    assert kinds == dict(a="vector", b="vector", k="matrix", alpha="vector")
    chosen = made("x + det(A)", kinds={"x": "scalar", "A": "symmetric"})
    assert [(x.kind, x.chosen) for x in chosen.variables] == [
        ("scalar", True),
        ("symmetric", True),
    ]
    assert "A: {shape: [n, n], symmetric: true}" in chosen.text


def test_typed_shapes_come_first_and_reach_the_others() -> None:
    found = shapes("norm(A @ x - y)", shapes={"A": "2*p, q"})
    assert found == {"A": "2*p, q", "x": "q", "y": "2*p"}
    assert shapes("x + y", shapes={"x": "3"}) == {"x": "3", "y": "3"}


def test_new_sizes_take_no_name_that_is_in_use() -> None:
    assert shapes("m * sum(A @ n)") == {"m": "q", "A": "k, p", "n": "p"}
    found = shapes("sum(A[m, i] * x[i], i)")
    assert found["A"] == "n, k"


def test_free_indices_stand_on_the_left() -> None:
    assert "\n  f[i, j]:\n" in made("sum(X[i, k] * X[j, k], k)").text
    assert "\n  f:\n" in made("sum(x[i] * y[i], i)").text
    assert "\n  g:\n" in made("f * x").text


def test_variables_come_before_data_and_x_is_the_first_choice() -> None:
    assert made("A @ x").by == ("x",)
    assert made("tanh(A @ y)").by == ("A",)
    assert made("c * d").by == ("c",)
    found = made("norm(A @ x - y)**2", by=["y", "A", "other"], order="second")
    assert found.by == ("A", "y")
    names = [line.split(":")[0].strip() for line in found.text.splitlines()[3:6]]
    assert names == ["A", "y", "x"]
    assert "wrt: [A, y]\n    emit: [value, gradient, hessian, hvp]\n" in found.text
    assert "wrt" not in made("sum(x)", order="value").text
    assert "wrt" not in made("sum(x)", by=[]).text


def test_while_it_is_being_typed_names_stay() -> None:
    assert shapes("A @ x +") == {"A": "m, n", "x": "k"}
    assert shapes("sum(log(x * ") == {"x": "n"}
    assert shapes("") == {}
    assert shapes("(" * 5000 + "x") == {"x": "n"}
    assert shapes("+".join(["x"] * 50_000)) == {"x": "n"}


@pytest.mark.parametrize(
    "text",
    ["sum(x)  # all", "x: y", "'a'", "- x", "[x]", "x\n+ y", "*x", "x:", "&x", "| x"],
)
def test_any_expression_is_the_text_that_the_spec_has(text: str) -> None:
    spec = read_spec(Source("play.yaml", made(text).text))
    read = str(spec.functions[0].expr).strip()
    assert read == text.replace("\n", " ").partition("  #")[0]
    assert made(text).text[made(text).start :].startswith(text.replace("\n", " "))


def test_what_is_no_shape_is_a_fault_of_its_own() -> None:
    with pytest.raises(SpecError) as error:
        made("x", shapes={"x": "n], y: [m"})
    (fault,) = error.value.diagnostics
    assert "shape of x:1:1: error: this is no shape" in fault.render()
    assert "such as m, n" in fault.render()


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"expression": 3},
        {"expression": "x", "kinds": ["vector"]},
        {"expression": "x", "kinds": {"x": "tensor"}},
        {"expression": "x", "shapes": {"x": 3}},
        {"expression": "x", "by": "x"},
        {"expression": "x", "by": [3]},
        {"expression": "x", "order": "third"},
    ],
)
def test_what_is_no_form_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(FormError):
        Form.read(given)
