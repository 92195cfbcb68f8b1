"""Code is taken apart into functions that compute the same, and share what they can."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.as_good import Price, is_as_good, price_of
from tensorgen.arrays.choose_outline import Asked, outlined
from tensorgen.arrays.code import Code
from tensorgen.arrays.operations import Add, Elementwise, Index, Multiply
from tensorgen.arrays.outline import Outline, Piece
from tensorgen.arrays.places import WHOLE
from tensorgen.arrays.repeats import recalled
from tensorgen.arrays.statements import Let, Release, Statement, Store
from tensorgen.ir.dims import Dim
from tensorgen.plans import share_code
from tests.made import generate, load

n = Dim.of("n")
x = variable("x", (n,), base="x")
ALL = Index((WHOLE,), (n,))


def own(name: str) -> Array:
    return variable(name, (n,), base=name)


def of(function: str, *args: Array) -> Array:
    return array(Elementwise(function), *args)


def times(*args: Array) -> Array:
    return array(Multiply(Fraction(1), len(args)), *args)


def chain(first: str, start: Array, count: int) -> list[Statement]:
    """So many statements, each of the one before."""
    lines: list[Statement] = []
    for k in range(count):
        lines.append(Let(f"{first}{k}", of("sin", start)))
        start = own(f"{first}{k}")
    return lines


def whole(count: int = 9) -> Code:
    """A value and a gradient of what nine statements make, and of their own ones."""
    lines = chain("p", x, 9)
    lines += chain("v", own("p8"), 9)
    lines += chain("g", times(own("p8"), own("p2")), count)
    return Code(tuple(lines), (own("v8"), own(f"g{count - 1}")))


def alone(code: Code, names: str, k: int) -> Code:
    lines = [s for s in code.statements if isinstance(s, Let) and s.name[0] in names]
    return Code(tuple(lines), (code.returns[k],))


def taken(code: Code, **others: Code) -> Outline | None:
    asked = {name: Asked([other], [name]) for name, other in others.items()}
    every = {"both": Asked([code], ["value", "grad"]), **asked}
    found = outlined(code, {"value": [[0]], "grad": [[1]]}, every, {}, ["x"])
    return found.outline if found else None


def test_what_two_results_need_is_computed_by_a_function_that_both_call() -> None:
    code = whole()
    outline = taken(code, value=alone(code, "pv", 0), grad=alone(code, "pg", 1))
    assert outline is not None
    parts, value, grad = outline.pieces
    assert parts.shared and parts.outputs == ("p2", "p8") and parts.takes == ("x",)
    assert [s.name for s in parts.code.statements if isinstance(s, Let)] == [
        f"p{k}" for k in range(9)
    ]
    assert (value.of, value.takes, grad.of, grad.takes) == (
        *("value", ("p8",)),
        *("grad", ("p8", "p2")),
    )
    # What is returned at once needs no name.
    assert value.code.returns == (of("sin", own("v7")),)
    assert outline.called(["grad"]) == [parts, grad]


def test_what_would_take_longer_stays_as_it_is() -> None:
    code = whole(20)
    quick = Code((), (of("sin", x),))
    outline = taken(code, value=quick, grad=alone(code, "pg", 1))
    # The value is not alone any more, so that it is no piece.
    assert outline is not None and [*outline.own] == ["value"]
    assert taken(code, value=quick) is None


def test_what_is_changed_belongs_to_what_changes_it() -> None:
    code = whole(20)
    change = Store(own("p2"), ALL, (), "+=", own("p1"))
    lines = (*code.statements[:3], change, *code.statements[3:])
    code = Code(lines, code.returns)
    outline = taken(code, grad=Code((*lines[:10], *lines[19:]), code.returns[1:]))
    assert outline is not None
    parts, *_ = outline.pieces
    assert change in parts.code.statements
    # Read before it is changed, it is two values under one name.
    late = Code((*whole().statements, change), code.returns)
    assert taken(late, grad=late) is None


def test_memory_is_given_up_behind_its_last_use_or_where_functions_end() -> None:
    code = whole()
    lines = (*code.statements, Release(("p0", "p8", "v7")))
    value, grad = alone(code, "pv", 0), alone(code, "pg", 1)
    outline = taken(Code(lines, code.returns), value=value, grad=grad)
    assert outline is not None
    parts, of_value, _ = outline.pieces
    # p8 is returned, and v7 is read by the last statement of all.
    assert parts.code.statements[2] == Release(("p0",))
    both = (*parts.code.statements, *of_value.code.statements)
    assert [line for line in both if isinstance(line, Release)] == [Release(("p0",))]


def test_who_needs_little_of_what_is_shared_computes_that_itself() -> None:
    lines = chain("p", x, 9)
    lines += chain("v", own("p8"), 9)
    lines += chain("g", times(own("p8"), own("p2")), 9)
    lines += chain("h", times(own("p0"), x), 9)
    code = Code(tuple(lines), (own("v8"), own("g8"), own("h8")))
    places = {"value": [[0]], "grad": [[1]], "hess": [[2]]}
    hess = Code((lines[0], *lines[27:]), (own("h8"),))
    others = {
        "value": Asked([alone(code, "pv", 0)], ["value"]),
        "grad": Asked([alone(code, "pg", 1)], ["grad"]),
        "hess": Asked([hess], ["hess"]),
    }
    asked = {"all": Asked([code], [*places]), **others}
    found = outlined(code, places, asked, {}, ["x"])
    assert found is not None and [*found.codes] == ["all", "value", "grad", "hess"]
    outline = found.outline
    assert outline is not None and found.codes["hess"] == [hess]
    # Both of them call one function, which is given a value.
    piece = next(p for p in outline.pieces if p.of == "hess")
    assert outline.leads == {("hess",): {0: Code((lines[0],), ())}}
    assert outline.called(["hess"]) == [piece] and piece.takes == ("x", "p0")
    assert piece in outline.called([*places]) and piece.code.statements == (
        *lines[27:-1],
    )


def test_what_takes_as_long_with_another_result_is_read_of_both() -> None:
    code = whole(60)
    value, grad = alone(code, "pv", 0), alone(code, "pg", 1)
    asked = {
        "both": Asked([code], ["value", "grad"]),
        "value": Asked([value], ["value"], ["both"]),
        "grad": Asked([grad], ["grad"], ["both"]),
    }
    places = {"value": [[0]], "grad": [[1]]}
    found = outlined(code, places, asked, {}, ["x"])
    assert found is None or not found.within  # nine statements more are too many
    brief = Code(
        (*chain("p", x, 9), *chain("g", own("p8"), 60)), (own("p8"), own("g59"))
    )
    asked["both"] = Asked([brief], ["value", "grad"])
    asked["value"] = Asked(
        [Code((*chain("p", x, 9),), (own("p8"),))], ["value"], ["both"]
    )
    asked["grad"] = Asked([alone(brief, "pg", 1)], ["grad"], ["both"])
    found = outlined(brief, places, asked, {}, ["x"])
    assert found is not None and found.within == {"grad": "both"}
    assert found.outline is not None and [*found.codes] == ["both", "value"]
    # The gradient is needed once, so that it is no piece.
    assert [piece.of for piece in found.outline.pieces] == ["value"]
    # What is short is left as it is.
    short = Code((*chain("g", x, 3),), (x, own("g2")))
    asked = {
        "both": Asked([short], ["value", "grad"]),
        "grad": Asked([Code(short.statements, (own("g2"),))], ["grad"], ["both"]),
    }
    assert outlined(short, places, asked, {}, ["x"]) is None


def test_what_was_written_for_memory_may_hold_what_that_has_saved() -> None:
    own = Price(100.0, 100, 10, 300, True, False)
    assert is_as_good(replace(own, most=400), own)
    assert not is_as_good(replace(own, most=401), own)
    # At known sizes it may hold what caches do.
    assert is_as_good(replace(own, most=900, is_cached=True), own)
    plain = replace(own, frees=False)
    assert is_as_good(replace(own, most=600), plain)
    assert not is_as_good(replace(own, most=601, is_cached=True), plain)
    assert not is_as_good(replace(own, flops=106), own)
    assert not is_as_good(replace(own, loops=11), own)
    assert not is_as_good(replace(own, time=106.0), own)


def test_a_product_with_a_hessian_repeats_no_loop_of_the_parts() -> None:
    text = generate(Path("examples/nile.yaml").read_text(encoding="utf-8"))
    calls = functions(text)
    for name in ("loss", "loss_grad", "loss_value_and_grad", "loss_hvp"):
        assert "_loss_parts" in calls[name]
    assert text.partition("def loss(")[2].count("F[t + 1] = ") == 0


def test_what_is_written_twice_takes_twice_as_long() -> None:
    double, y = array(Add((1, 1)), x, x), own("y")

    def time(*lines: Statement) -> float:
        return price_of(Code(lines, ()), {}).time

    once = time(Let("y", double))
    assert time(Let("y", double), Let("z", double)) == 2 * once > 0
    assert time(Let("y", array(Add((1, 1)), double, double))) == 3 * once
    # What places of one array store is one line.
    first, again = (Store(y, ALL, (), "=", double) for _ in range(2))
    assert time(first, again) == once
    assert time(first, Store(own("z"), ALL, (), "=", double)) == 2 * once


def test_what_is_returned_at_once_has_no_name() -> None:
    text = generate(
        "tensorgen: 1\ninputs: {w: [n], X: [m, n]}\nfunctions:\n"
        "  f: {where: t = X @ w, expr: sum(log(1 + exp(t))), wrt: w, "
        "emit: [value, gradient, hessian]}\n"
    )
    (shared,) = re.findall(r"def _f_parts\(.*?\n\n\n", text, re.S)
    last = shared.split('"""\n')[1].split("\n")
    assert [line.strip() for line in last if line] == [
        "t = X @ w",
        "return _softplus_sigmoid_and_slope(t)",
    ]


def test_nothing_is_taken_apart_that_is_short() -> None:
    lines = (Let("p", of("sin", x)), Let("v", of("cos", own("p"))))
    code = Code(
        (*lines, Let("g", array(Add((1, 1)), own("p"), x))), (own("v"), own("g"))
    )
    assert (
        taken(code, grad=Code((lines[0],), (array(Add((1, 1)), own("p"), x),))) is None
    )


SPEC = """tensorgen: 1
module: shared
inputs: {tau: [n], y: [n], b: [3], lam: {shape: scalar, positive: true}}
functions:
  sse:
    where: |
      x = tau/lam
      s = (1 - exp(-x))/x
    expr: sum((y - b[0] - b[1]*s - b[2]*(s - exp(-x)))**2)
    wrt: [b, lam]
    emit: [value, gradient, hessian]
"""


def functions(text: str) -> dict[str, list[str]]:
    """The functions that each function of a module calls, by name."""
    found = [f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef)]
    names = {f.name for f in found}
    return {
        f.name: [
            node.func.id
            for node in ast.walk(f)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in names
        ]
        for f in found
    }


def test_value_and_derivatives_are_one_text() -> None:
    calls = functions(generate(SPEC))
    for name in ("sse", "sse_grad", "sse_value_and_grad"):
        assert "_sse_parts" in calls[name]
    for name in ("sse_grad", "sse_value_and_grad", "sse_value_grad_hess"):
        assert "_sse_grad" in calls[name]
    # A Hessian by itself takes less memory than with what the others share.
    assert "_sse_parts" not in calls["sse_hess"]


def test_they_agree_to_the_bit() -> None:
    module = load(SPEC)
    rng = np.random.default_rng(0)
    given: dict[str, Any] = {
        "tau": rng.uniform(1, 5, 7),
        "y": rng.standard_normal(7),
        "b": rng.standard_normal(3),
        "lam": 1.7,
    }
    value, gradient, hessian = module.sse_value_grad_hess(**given)
    assert value == module.sse(**given) == module.sse_value_and_grad(**given)[0]
    for one, other in zip(gradient, module.sse_grad(**given), strict=True):
        assert np.array_equal(one, other)
    # By itself it is made of nothing that is shared, in an order of its own.
    alone = module.sse_hess(**given).dense()
    np.testing.assert_allclose(hessian.dense(), alone, 1e-14, 1e-14)


def test_what_repeats_the_statements_of_a_piece_calls_it() -> None:
    code = whole()
    outline = taken(code, value=alone(code, "pv", 0), grad=alone(code, "pg", 1))
    assert outline is not None
    lines = [*chain("q", x, 9), *chain("r", times(own("q8"), own("q2"), own("d")), 2)]
    other = Code(tuple(lines), (own("r1"),))
    rest = recalled(outline.pieces[0], other, {})
    assert rest is not None
    assert [s.name for s in rest.statements if isinstance(s, Let)] == ["r0", "r1"]
    assert rest.statements[0] == Let(
        "r0", of("sin", times(own("p8"), own("p2"), own("d")))
    )
    # An inner value of the piece is made again; what nobody reads is not.
    lines.append(Let("s", of("cos", own("q4"))))
    again = recalled(outline.pieces[0], Code(tuple(lines), (own("s"),)), {})
    assert again is not None
    names = [s.name for s in again.statements if isinstance(s, Let)]
    assert names == ["q3", "q4", "s"]


FORMS = """tensorgen: 1
module: forms
inputs: {b: [p], s: scalar, X: [n, p], t: [n], d: [n]}
functions:
  loss:
    where: |
      z = (log(t) - X @ b) / exp(s)
    expr: sum(exp(z) - d * (z - s))
    wrt: [b, s]
    emit: [value, gradient, hessian]
"""


def test_all_forms_of_a_hessian_are_one_function() -> None:
    text = generate(FORMS)
    calls = functions(text)
    assert len(re.findall(r"^    if n ?\* ?p", text, re.M)) == 1
    for name in ("loss_hess", "loss_value_grad_hess"):
        assert {"_loss_parts", "_loss_hess"} <= {*calls[name]}
    # What both forms need is computed once, before they part.
    _, _, body = text.partition("def _loss_hess(")
    body, _, _ = body.partition("\ndef ")
    assert body.count("hess_b_s = ") == 1


def test_forms_agree_whoever_asks() -> None:
    module = load(FORMS)
    rng = np.random.default_rng(1)
    for n, p in ((9, 3), (2, 7)):
        given = {
            "b": rng.standard_normal(p),
            "s": 0.3,
            "X": rng.standard_normal((n, p)),
            "t": rng.uniform(1, 3, n),
            "d": rng.integers(0, 2, n) * 1.0,
        }
        _, gradient, hessian = module.loss_value_grad_hess(**given)
        alone = module.loss_hess(**given)
        assert np.array_equal(hessian.dense(), alone.dense())
        assert type(hessian.blocks["b", "b"]) is type(alone.blocks["b", "b"])
        assert ("LossHessianBB" in str(type(alone.blocks["b", "b"]))) == (p > n)
        for one, other in zip(gradient, module.loss_grad(**given), strict=True):
            assert np.array_equal(one, other)


LABELS = """tensorgen: 1
module: labels
inputs: {W: [d, c], b: [c], X: [s, d], label: {shape: [s], index: c}}
functions:
  loss:
    where: L = log_softmax(X @ W + b, axis=1)
    expr: -mean(L[i, label[i]], i)
    wrt: [W, b]
    emit: [value, gradient, hessian]
"""


def test_pieces_are_given_the_sizes_that_counts_need() -> None:
    module = load(LABELS, mode="forward")
    rng = np.random.default_rng(2)
    given = {"W": rng.standard_normal((3, 4)), "b": rng.standard_normal(4)}
    given |= {"X": rng.standard_normal((6, 3))}
    label = np.array([0, 1, 3, 3, 0, 1])
    shares = np.exp(given["X"] @ given["W"] + given["b"])
    shares /= shares.sum(axis=1)[:, None]
    wanted = (shares.sum(axis=0) - np.bincount(label, minlength=4)) / 6
    np.testing.assert_allclose(module.loss_grad(**given, label=label).b, wanted)


def test_what_calls_a_piece_has_the_sizes_of_the_object_that_it_builds() -> None:
    module = load("""tensorgen: 1
module: third
inputs: {x: [p]}
functions:
  f: {expr: expm1(sin(sum(x))), wrt: x, emit: [value, gradient, hessian, 3]}
""")
    x = np.array([0.1, 0.4, -0.2])
    s = x.sum()
    c, t = np.cos(s), np.sin(s)
    third = np.exp(t) * (c**3 - 3 * c * t - c)
    np.testing.assert_allclose(module.f_d3(x).dense(), np.full((3, 3, 3), third))


def test_private_functions_of_two_formulas_have_names_of_their_own() -> None:
    # What both are called without the other: `_f_value_parts`.
    plain = [Piece("value", True, (), Code((), ()), ("a",), users=("value",))]
    taken = {*share_code._names("f_value", Outline((*plain,), {}, {}), ()).values()}
    others = [replace(plain[0], of="grad"), replace(plain[0], of="value")]
    names = share_code._names("f", Outline((*others,), {}, {}), taken)
    assert taken == {"_f_value_parts"}
    assert [*names.values()] == ["_f_parts", "_f_value_parts_"]


def test_what_a_result_does_itself_hides_nothing_that_is_shared() -> None:
    # Three values are `weighted`, of which two are shared and one the gradient's own.
    module = load("""tensorgen: 1
inputs: {A: [n, n]}
functions:
  f:
    where: res = sum(A, axis=-1)
    expr: square(log10(3 + cos(logsumexp(res))))
    wrt: A
    emit: [value, gradient, hessian]
""")
    A = np.random.default_rng(0).normal(size=(3, 3))
    _, grad, hess = module.f_value_grad_hess(A)
    step = 1e-6
    ends = [module.f_grad(A + s * step * np.eye(3)) for s in (1, -1)]
    slope = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(hess @ np.eye(3), slope, atol=1e-8)
    np.testing.assert_array_equal(grad, module.f_grad(A))


def test_numbers_that_the_user_named_are_computed_once_and_squares_where_read() -> None:
    text = generate(
        "tensorgen: 1\ninputs: {w: [n], X: [m, n], t: [m], logk: scalar, eps: scalar}\n"
        "functions:\n  f:\n    where: |\n      dev = t - X @ w\n      k = exp(logk)\n"
        "    expr: k*sum(sqrt(dev**2 + eps**2)) - log(k)*sum(w**2)\n"
        "    wrt: [w, logk]\n    emit: [value, gradient, hessian]\n"
    )
    shared = text.split("def _f_parts(")[1].split("\n\n\n")[0]
    assert text.count("k = np.exp(logk)") == shared.count("k = np.exp(logk)") == 1
    assert "eps_squared," not in text and "w_squared," not in text
