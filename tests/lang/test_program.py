"""Whole files: functions of functions, arguments, definitions, sizes, names."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.special import log_ndtr

from tensorgen.ir.dims import Dim
from tensorgen.lang.prelude import prelude
from tensorgen.lang.sizes import Known
from tests.lang.speak import Array, function, numbers, program, spec_of, value

N = numbers()
X, u, v, w, c = N["X"], N["u"], N["v"], N["w"], N["c"]


def test_arguments_are_the_inputs_mentioned_in_the_order_of_the_file() -> None:
    text = spec_of("g + w @ v", where="unused = c * u")
    found = program(text + "  g: sum(X)\n  h: {expr: g, wrt: v}\n")
    names = [[a.name for a in f.arguments] for f in found.functions]
    assert names == [["X", "u", "v", "w", "c"], ["X"], ["X", "v"]]


def test_what_folds_away_is_still_an_argument() -> None:
    f = function("v[i]**2 + 0 * u[j]", "f[i, j]")
    assert [a.name for a in f.arguments] == ["u", "v"]
    assert [str(d) for d in f.node.dims] == ["n", "m"]


def test_functions_may_stand_in_any_order() -> None:
    text = spec_of("g * 2") + "  g: h + 1\n  h: v @ w\n"
    found = program(text)
    assert [f.spec.name for f in found.functions] == ["f", "g", "h"]


def test_local_values_are_kept_with_their_formulas() -> None:
    f = function("sum(t)", where="z = X @ v\nt[i] = -u[i] *  z[i]")
    assert [(x.name, x.left, x.formula) for x in f.locals] == [
        ("z", "z", "X @ v"),
        ("t", "t[i]", "-u[i] * z[i]"),
    ]
    assert [[str(d) for d in x.node.dims] for x in f.locals] == [["m"], ["m"]]


def test_values_bear_the_names_that_the_user_gave() -> None:
    found = program(
        spec_of("exp(z) + g", where="z = X @ v\nalias = u") + "  g: 2 * u\n"
    )
    names = found.graph.names.values()
    assert sorted(names) == ["f", "g", "z"]


def test_definitions_are_hygienic() -> None:
    macros = "scale(t) = t * c\ntotal(t) = sum(t[i] * t[i], i)\nshared = v + 1"
    assert value("total(scale(v))", macros=macros) == pytest.approx(c**2 * v @ v)
    expected = np.full(4, w @ w) * v
    np.testing.assert_allclose(
        value("total(w) * v[i]", "f[i]", macros=macros), expected
    )
    np.testing.assert_allclose(value("shared * 2", macros=macros), 2 * v + 2)


def test_a_definition_sees_no_names_of_the_place_of_its_call() -> None:
    text = spec_of("add(v)", where="z = w", macros="add(t) = t + z")
    with pytest.raises(Exception, match="unknown name 'z'"):
        program(text)


def test_a_definition_takes_values_with_indices() -> None:
    macros = "huber(t, d) = where(abs(t) <= d, t**2 / 2, d * (abs(t) - d / 2))"
    expected = np.where(np.abs(X) <= 1, X**2 / 2, np.abs(X) - 0.5).sum(1)
    found = value("sum(huber(X[i, j], 1), j)", "f[i]", macros=macros)
    np.testing.assert_allclose(found, expected)


def test_the_indices_of_a_call_pass_through_a_definition_with_its_own() -> None:
    macros = "total(t) = sum(t[i] * t[i], i)\npick(t, r) = t[r]\nrest(t) = t[1:]"
    found = value("total(X[a, :]) + 0 * u[a]", "f[a]", macros=macros)
    np.testing.assert_allclose(found, (X * X).sum(1))
    found = value("pick(u, row[a])", "f[a]", macros=macros)
    np.testing.assert_allclose(found, u[N["row"]])
    found = value("sum(total(rest(X[i, :])) * i, i)", macros=macros)
    np.testing.assert_allclose(found, (X[:, 1:] ** 2).sum(1) @ np.arange(3))


def test_positions_inside_of_a_definition_are_checked() -> None:
    found = function("pick(v, row[a]) + 0 * u[0]", "f[a]", macros="pick(t, r) = t[r]")
    assert [c.message for c in found.checks] == [
        "'t[r]' needs m <= n",
        "'u[0]' needs 1 <= m",
    ]


def test_a_definition_with_indices_on_the_left_is_shared() -> None:
    macros = "gram[i, j] = sum(X[i, k] * X[j, k], k)".replace("k", "q")
    np.testing.assert_allclose(value("gram @ u", macros=macros), X @ X.T @ u)


def test_a_definition_of_ones_own_goes_before_the_prelude() -> None:
    np.testing.assert_allclose(value("silu(v)", macros="silu(t) = t + 1"), v + 1)


def test_conditions_are_checked_by_every_function_that_needs_them() -> None:
    text = spec_of("g + 1", where="t = v[2:]") + "  g: v[1] + v[0]\n  h: w\n"
    found = program(text)
    messages = [[check.message for check in f.checks] for f in found.functions]
    assert messages == [
        ["'v[2:]' needs 2 <= n", "'v[1]' needs 2 <= n", "'v[0]' needs 1 <= n"],
        ["'v[1]' needs 2 <= n", "'v[0]' needs 1 <= n"],
        [],
    ]
    assert len(found.checks) == 3


@pytest.mark.parametrize(
    ("dims", "wanted", "missing"),
    [
        (["n"], "n", ""),
        (["n"], "2*n + 1", ""),
        (["n"], "k", "k"),
        (["n+k-1"], "n", "n"),
        (["n+k-1"], "n+k", ""),
        (["n+k-1", "k"], "n", ""),
        (["2*n"], "n", ""),
        (["n+k", "n-k"], "k", ""),
        (["n+k", "2*n+2*k"], "n", "n"),
        (["n*k", "n"], "k", "k"),
        (["n", "k"], "n*k", ""),
        (["n"], "n*k", "k"),
        (["n + k"], "n*k", "k n"),
        (["a+b", "b+c", "a+c"], "a*b*c", ""),
        (["3"], "n", "n"),
        (["n"], "3", ""),
    ],
)
def test_a_dim_follows_where_shapes_determine_it(
    dims: list[str], wanted: str, missing: str
) -> None:
    names = {name: Dim.symbol(name) for name in "abcnk"}
    known = Known(Dim.of(eval(text, {}, names)) for text in dims)
    assert known.missing(Dim.of(eval(wanted, {}, names))) == tuple(missing.split())


def test_an_axis_may_be_a_sum_of_dims_that_do_not_follow() -> None:
    assert function("mean(wide**2)").arguments[0].name == "wide"
    assert str(function("wide[1:]").node.dims[0]) == "k + n - 2"


def _huber(t: Array, d: float) -> Array:
    return np.where(np.abs(t) <= d, t**2 / 2, d * (np.abs(t) - d / 2))


def _scaled_elu(t: Array) -> Array:
    return np.where(t > 0, t, 1.6732632423543772 * np.expm1(t))


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("square(v)", lambda t: t**2),
        ("reciprocal(v)", lambda t: 1 / t),
        ("ceil(3 * v)", lambda t: np.ceil(3 * t)),
        ("isnan(v)", np.isnan),
        ("trigamma(1 + 0 * v)", lambda t: np.full(4, np.pi**2 / 6)),
        ("clip(v, -1/2, 1/2)", lambda t: np.clip(t, -0.5, 0.5)),
        ("silu(v)", lambda t: t / (1 + np.exp(-t))),
        ("elu(v)", lambda t: np.where(t > 0, t, np.expm1(np.minimum(t, 0)))),
        ("softsign(v)", lambda t: t / (1 + np.abs(t))),
        ("leaky_relu(v, 0.1)", lambda t: np.where(t > 0, t, 0.1 * t)),
        ("mish(v)", lambda t: t * np.tanh(np.log1p(np.exp(t)))),
        ("logit(sigmoid(v))", lambda t: t),
        ("log_sub_exp(1 + v, v)", lambda t: t + np.log(np.e - 1)),
        ("log_ndtr_diff(v, v - 100)", log_ndtr),
        ("huber(v, 5)", lambda t: t**2 / 2),
        ("smooth_l1(v, 2 * v)", lambda t: np.mean(_huber(t, 1))),
        ("mse(v, 1)", lambda t: np.mean((t - 1) ** 2)),
        ("prelu(v, 0.1)", lambda t: np.where(t > 0, t, 0.1 * t)),
        ("celu(v, 2)", lambda t: np.where(t > 0, t, 2 * np.expm1(t / 2))),
        ("selu(v)", lambda t: 1.0507009873554805 * _scaled_elu(t)),
        ("glu(v, v)", lambda t: t / (1 + np.exp(-t))),
        ("bce(sigmoid(v), 0)", lambda t: np.mean(np.log1p(np.exp(t)))),
        ("bce_with_logits(v, 1)", lambda t: np.mean(np.log1p(np.exp(-t)))),
        ("cross_entropy(0 * v, 1)", lambda t: 4 * np.log(4)),
        ("lstsq(stack([v, 1 / v], axis=1), 2 * v + 3 / v)", lambda t: [2, 3]),
        ("centered(v)", lambda t: t - t.mean()),
        ("layer_norm(v, 2, 1, 0)", lambda t: 2 * (t - t.mean()) / t.std() + 1),
        ("row_length(v)", lambda t: 4 * np.ones(1)),
        ("similarity([v], [v])", lambda t: [[t @ t / 2]]),
        ("attention([v], [v], [v])", lambda t: [t]),
    ],
)
def test_a_function_of_the_prelude_has_its_value(text: str, meaning: object) -> None:
    np.testing.assert_allclose(value(text), meaning(v))  # type: ignore[operator]


def test_the_exact_gelu_is_the_one_by_the_error_function() -> None:
    special = pytest.importorskip("scipy.special")
    np.testing.assert_allclose(value("gelu(v)"), v * special.ndtr(v))


def test_every_definition_of_the_prelude_is_tested() -> None:
    with open(__file__, encoding="utf-8") as own:
        text = own.read()
    assert [
        name for name in prelude() if f'"{name}(' not in text.replace("value(", "")
    ] == []


def test_elaboration_does_not_depend_on_the_hash_seed() -> None:
    script = (
        "from tests.lang.speak import program, spec_of\n"
        "text = spec_of('sum(t * z) + sum(g) + sum(X[row[a], j] * v[j], a, j)',"
        " where='z = tanh(X @ v)\\nt[i] = sum(X[i, j] * Y[i, j], j, i + j < m)')"
        " + '  g: grad(sum(exp(v * w)), v)\\n'\n"
        "found = program(text)\n"
        "from tensorgen.ir.nodes import topological\n"
        "print([(n.serial, type(n).__name__, str(n.dims)) for f in found.functions"
        " for n in topological([f.node])])\n"
        "print([[a.name for a in f.arguments] for f in found.functions])\n"
        "print(found.checks)\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1
