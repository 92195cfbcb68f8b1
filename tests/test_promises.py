"""Promises of values that have a name: they are used, they hide nothing."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest

from tensorgen.errors import SpecError
from tests import made
from tests.device.library import execute, stand_in

HEAD = "tensorgen: 1\nmodule: promises\n"
INPUTS = "inputs: {K: [n, n], s: [n], b: [n], V: [n, r], X: [m, n]}\n"
LIKELIHOOD = f"""{HEAD}{INPUTS}
functions:
  f:
    where:
      S: WHERE
    expr: b @ solve(S, b) / 2 + logdet(S) / 2
    wrt: [b, s]
    emit: [value, gradient, hessian, hvp, problem]
"""
PROMISED = LIKELIHOOD.replace("WHERE", "{spd: K + diag(s)}")
CALLED = LIKELIHOOD.replace("WHERE", "spd(K + diag(s))")
PLAIN = LIKELIHOOD.replace("WHERE", "K + diag(s)")
STRUCTURED = f"""{HEAD}dims: {{n: 100, r: 2}}
{INPUTS}
functions:
  f:
    where: |
      S = diag(s) + V @ V.T
    expr: b @ S @ b / 2 + logdet(S)
    wrt: b
    emit: [gradient, hessian]
"""
ENTRIES = f"""{HEAD}
inputs: {{x: [n], y: [n]}}
functions:
  f:
    where:
      K[i, j]: {{spd: "exp(-(x[i] - x[j])**2) + delta(i, j)"}}
    expr: y @ inv(K) @ y + sum(inv(K)**2) + sum(cholesky(K)) + logdet(K)
    wrt: y
    emit: [value, gradient]
"""
METHODS = ("f", "f_grad", "f_value_and_grad", "f_hess", "f_value_grad_hess", "f_hvp")


def given(n: int = 5) -> dict[str, Any]:
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n))
    return {
        "K": root @ root.T / n + np.eye(n),
        "s": rng.uniform(0.5, 1.5, n),
        "b": rng.normal(size=n),
    }


def same(one: Any, other: Any) -> None:
    for x, y in zip(flat(one), flat(other), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)


def flat(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [x for part in value for x in flat(part)]
    return [value.dense() if hasattr(value, "dense") else value]


def test_both_forms_give_one_module_but_for_the_hash_of_the_spec() -> None:
    texts = [made.generate(spec) for spec in (PROMISED, CALLED)]
    first, second = (re.sub(r"sha256 \w+", "", text) for text in texts)
    assert first == second
    assert "S = spd(K + diag(s))" in first


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
@pytest.mark.parametrize("n", [1, 5, 70])
def test_a_promised_name_changes_no_value(n: int, backend: str) -> None:
    plain: Any = made.load(PLAIN)
    arguments = given(n)
    more = {"db": arguments["s"], "ds": arguments["b"]}
    with stand_in() as cupy:
        module: Any = execute(made.generate(PROMISED, backend=backend))
        device = cupy.asarray if backend == "cupy" else np.asarray
        for name in METHODS:
            own = arguments | (more if name == "f_hvp" else {})
            found = vars(module)[name](**{k: device(x) for k, x in own.items()})
            got = [x.get() if hasattr(x, "get") else x for x in flat(found)]
            same(tuple(got), vars(plain)[name](**own))


@pytest.mark.parametrize("name", METHODS)
def test_one_factor_serves_all_that_is_asked(name: str) -> None:
    function = made.source(made.generate(PROMISED), name)
    assert function.count("np.linalg.cholesky(S)") == 1
    assert not re.search(r"np\.linalg\.(solve|inv|slogdet)\(", function)


@pytest.mark.parametrize("name", METHODS)
def test_a_broken_promise_is_told_by_everything(name: str) -> None:
    module = made.load(PROMISED)
    arguments = given() | {"s": np.full(5, -3.0)}
    if name == "f_hvp":
        arguments |= {"db": arguments["b"], "ds": arguments["b"]}
    with pytest.raises(np.linalg.LinAlgError):
        vars(module)[name](**arguments)
    data = {k: arguments[k] for k in ("K",)}
    problem: Any = module.FProblem(**data)
    with pytest.raises(np.linalg.LinAlgError):
        problem.value(np.concatenate([arguments["b"], arguments["s"]]))


@pytest.mark.parametrize(
    "expr", ["inv(W)[0, 1] + b[0]", "b @ solve(W, b)", "logdet(W) + sum(b)"]
)
@pytest.mark.parametrize("wrt", ["b", "W"])
def test_spd_inputs_are_held_to_their_promise(expr: str, wrt: str) -> None:
    spec = f"""{HEAD}
inputs: {{W: {{shape: [n, n], spd: true}}, b: [n]}}
functions:
  f: {{expr: "{expr}", wrt: {wrt}, emit: [value, gradient, hvp]}}
"""
    module = vars(made.load(spec))
    names = [k for k in ("f", "f_grad", "f_hvp") if "cholesky(W)" in text(module, k)]
    assert "f" in names and (wrt == "b" or len(names) == 3)
    W, b = given()["K"], given()["b"]
    broken = W - 2 * np.linalg.eigvalsh(W)[0] * np.eye(5)  # regular, not definite
    assert np.isfinite(np.linalg.inv(broken)).all()
    for name in names:
        along = {} if name != "f_hvp" else {f"d{wrt}": W if wrt == "W" else b}
        module[name](W=W, b=b, **along)
        with pytest.raises(np.linalg.LinAlgError):
            module[name](W=broken, b=b, **along)


def text(module: dict[str, Any], name: str) -> str:
    own = inspect.getsource(module[name])
    shared = re.findall(r"\b_\w+_(?:parts|value|grad|hess)(?=\()", own)
    return "".join([*(inspect.getsource(module[x]) for x in shared), own])


def test_a_promise_hides_no_structure() -> None:
    promised = STRUCTURED.replace("diag(s) + V @ V.T", "spd(diag(s) + V @ V.T)")
    bodies = []
    for spec in (promised, STRUCTURED):
        source = made.generate(spec)
        hessian = source.split("\ndef f_hess(")[1].split("\nclass ")[0]
        bodies.append((hessian.split("Structure:")[1], "V @ (V.T @ b)" in source))
    assert bodies[0] == bodies[1] and "diagonal plus rank r" in bodies[0][0]


def test_what_is_promised_of_a_part_is_known_of_the_whole() -> None:
    spec = f"""{HEAD}{INPUTS}
functions:
  f:
    where: |
      S = spd(K + diag(s))
    expr: b @ solve(S + X.T @ X, b)
    wrt: b
    emit: [value, gradient]
"""
    source = made.generate(spec)
    assert source.count("np.linalg.cholesky(") == 1 and "linalg.solve(S" not in source


def test_symmetry_is_used_but_gives_no_factor() -> None:
    spec = f"""{HEAD}{INPUTS}
functions:
  f:
    where: {{S: {{symmetric: K + diag(s)}}}}
    expr: b @ S @ b + b @ solve(S, b)
    wrt: b
    emit: [gradient]
"""
    source = made.generate(spec)
    assert "S.T" not in source and "cholesky" not in source
    assert source.count("np.linalg.solve(S, b)") == 1


def test_a_matrix_that_is_given_by_entries_is_promised_as_a_whole() -> None:
    module: Any = made.load(ENTRIES)
    assert text(vars(module), "f").count("np.linalg.cholesky(K)") == 1
    x, y = np.arange(4.0), np.ones(4)
    K = np.exp(-((x[:, None] - x) ** 2)) + np.eye(4)
    inverse = np.linalg.inv(K)
    value = y @ inverse @ y + (inverse**2).sum() + np.linalg.slogdet(K)[1]
    np.testing.assert_allclose(module.f(x, y), value + np.linalg.cholesky(K).sum())
    np.testing.assert_allclose(module.f_grad(x, y), 2 * inverse @ y)


def test_a_definition_of_the_file_may_be_promised_something() -> None:
    spec = f"""{HEAD}{INPUTS}
definitions: {{S: {{spd: K + diag(s)}}}}
functions:
  f: {{expr: "logdet(S)", wrt: s, emit: [value, gradient]}}
  g: {{expr: "logdet(K + diag(s))"}}
"""
    source = made.generate(spec)
    assert source.count("np.linalg.cholesky(S)") == 1
    assert "slogdet" in source.split("\ndef g(")[1]  # of others nothing is promised


WRONG = [
    ("S: {spd: V}", "'spd' needs a square matrix", "spd"),
    ("S: {sdp: K}", "'sdp' is not a key of 'S'", "sdp"),
    ("S: {spd: K, symmetric: K}", "'S' is one value, and has one promise", "symmetric"),
    ("S: {}", "'S' has no expression", "S"),
    ("S: {spd: }", "'S' has no expression", "spd"),
    ("S: spd(V)", "'spd' needs a square matrix", "spd"),
    ('"S[i, j]": "spd(K[i, j])"', "'spd' needs a square matrix", "spd"),
]


@pytest.mark.parametrize(("line", "message", "at"), WRONG)
def test_a_wrong_promise_is_one_diagnostic(line: str, message: str, at: str) -> None:
    spec = f"""{HEAD}{INPUTS}
functions:
  f:
    where:
      {line}
    expr: sum(S)
"""
    with pytest.raises(SpecError) as caught:
        made.generate(spec)
    (found,) = caught.value.diagnostics
    assert found.message == message
    assert found.span is not None
    start = found.span.start
    assert spec[start : start + len(at)] == at, str(caught.value)


def test_a_definition_with_parameters_is_promised_nothing() -> None:
    spec = f"""{HEAD}{INPUTS}
definitions: {{"S(t)": {{spd: K + diag(t)}}}}
functions: {{f: sum(S(s))}}
"""
    with pytest.raises(SpecError, match="promise it in the expression: spd"):
        made.generate(spec)


def test_weights_that_are_zero_have_slopes() -> None:
    text = """tensorgen: 1
inputs: {w: {shape: [n], nonnegative: true}, y: [n]}
functions:
  f: {expr: 'log(sum(w*exp(y)))', wrt: [w, y], emit: [value, gradient]}
"""
    w, y = np.array([0.0, 1.0, 2.0]), np.array([801.0, 800.0, 799.0])
    value, slopes = made.load(text).f_value_and_grad(w=w, y=y)
    parts = np.exp(y - 800)
    np.testing.assert_allclose(value, 800 + np.log(w @ parts), rtol=1e-15)
    np.testing.assert_allclose(slopes.w, parts / (w @ parts), rtol=1e-14)
    np.testing.assert_allclose(slopes.y, w * parts / (w @ parts), rtol=1e-14)
