"""Every function of the table against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.signal

from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import delta, indicator
from tensorgen.operators.functions import FUNCTIONS, Function, Parameter
from tensorgen.operators.functions.arithmetic import elementwise
from tensorgen.operators.functions.array import Array
from tensorgen.operators.functions.reductions import Mask
from tests.operators.bench import NUMBERS, SIZES, Bench, K, M, N


def softmax(x: Any, axis: Any = None) -> Any:
    """Return the softmax by its definition."""
    return np.exp(x) / np.exp(x).sum(axis=axis, keepdims=True)


def symmetrised(a: Any) -> Any:
    """Return the mean of matrices and their transposes."""
    return (a + np.swapaxes(a, -1, -2)) / 2


def written(x: Any, at: Any, v: Any) -> Any:
    """Return x with v at places."""
    found = x.copy()
    found[at] = v
    return found


def added(x: Any, at: Any, v: Any) -> Any:
    """Return x with v added at places."""
    found = x.copy()
    np.add.at(found, at, v)
    return found


def splined(x: Any, xp: Any, fp: Any) -> Any:
    """Return the natural cubic spline."""
    return scipy.interpolate.CubicSpline(xp, fp, bc_type="natural")(x)


V = NUMBERS
Case = tuple[str, tuple[object, ...], Any]
CASES: list[Case] = [
    *[
        (name, ("X", axis, keep), function(V["X"], axis=axis, keepdims=keep))
        for name, function in (
            ("sum", np.sum),
            ("mean", np.mean),
            ("var", np.var),
            ("prod", np.prod),
            ("max", np.max),
            ("min", np.min),
            ("median", np.median),
        )
        for axis in (None, 0, -1, (0, 1), ())
        for keep in (False, True)
    ],
    ("sum", ("c",), V["c"]),
    ("max", ("c",), V["c"]),
    ("norm", ("X",), np.linalg.norm(V["X"])),
    ("norm", ("v", 2), np.linalg.norm(V["v"])),
    ("norm", ("X", 1), np.abs(V["X"]).sum()),
    ("norm", ("X", "inf", 0), np.abs(V["X"]).max(0)),
    ("norm", ("X", None, 1, True), np.linalg.norm(V["X"], axis=1, keepdims=True)),
    ("logsumexp", ("X",), np.log(np.exp(V["X"]).sum())),
    ("logsumexp", ("X", 1), np.log(np.exp(V["X"]).sum(1))),
    ("softmax", ("X",), softmax(V["X"])),
    ("softmax", ("X", 0), softmax(V["X"], 0)),
    ("softmax", ("c",), 1),
    ("log_softmax", ("X", -1), np.log(softmax(V["X"], 1))),
    ("log_softmax", ("X",), np.log(softmax(V["X"]))),
    ("cumsum", ("X", 0), np.cumsum(V["X"], 0)),
    ("cumsum", ("v",), np.cumsum(V["v"])),
    ("cumprod", ("X", 0), np.cumprod(V["X"], 0)),
    ("cumprod", ("v",), np.cumprod(V["v"])),
    ("sort", ("v",), np.sort(V["v"])),
    ("sort", ("X",), np.sort(V["X"])),
    ("sort", ("X", 0), np.sort(V["X"], 0)),
    ("argsort", ("X", 0), np.argsort(V["X"], 0)),
    ("argsort", ("v",), np.argsort(V["v"])),
    ("searchsorted", ("knots", "v"), np.searchsorted(V["knots"], V["v"])),
    ("searchsorted", ("knots", "X"), np.searchsorted(V["knots"], V["X"])),
    ("take_along_axis", ("X", "order"), np.take_along_axis(V["X"], V["order"], 1)),
    ("take", ("X", "label"), np.take(V["X"], V["label"])),
    ("take", ("T", "order", -1), np.take(V["T"], V["order"], -1)),
    ("put", ("v", "label", "c"), written(V["v"], V["label"], V["c"])),
    ("put", ("v", "label", "u", True), added(V["v"], V["label"], V["u"])),
    ("index_put", ("A", ("label",), "c"), written(V["A"], V["label"], V["c"])),
    (
        "index_put",
        ("A", ("label",), "X", True),
        added(V["A"], V["label"], V["X"]),
    ),
    (
        "index_put",
        ("A", ("order", "order"), "c"),
        written(V["A"], (V["order"], V["order"]), V["c"]),
    ),
    ("one_hot", ("label",), np.eye(4)[V["label"]]),
    ("one_hot", ("order", Dim.of(6) + N), np.eye(10)[V["order"]]),
    ("dot", ("v", "w"), V["v"] @ V["w"]),
    ("dot", ("X", "A"), V["X"] @ V["A"]),
    ("dot", ("T", "B"), np.dot(V["T"], V["B"])),
    ("dot", ("c", "X"), V["c"] * V["X"]),
    ("vdot", ("X", "Y"), np.vdot(V["X"], V["Y"])),
    ("outer", ("u", "v"), np.outer(V["u"], V["v"])),
    ("cross", ("p", "q"), np.cross(V["p"], V["q"])),
    ("kron", ("X", "A"), np.kron(V["X"], V["A"])),
    ("kron", ("u", "X"), np.kron(V["u"], V["X"])),
    ("matmul", ("X", "v"), V["X"] @ V["v"]),
    ("matmul", ("T", "B"), V["T"] @ V["B"]),
    ("einsum", ("ij,jk->ik", ("X", "A")), V["X"] @ V["A"]),
    ("einsum", ("ij,ij", ("X", "Y")), np.vdot(V["X"], V["Y"])),
    ("einsum", ("ii", ("A",)), np.trace(V["A"])),
    ("einsum", ("ii->i", ("A",)), np.diag(V["A"])),
    ("einsum", ("ba", ("X",)), V["X"].T),
    ("einsum", ("...ij,...jk", ("T", "A")), V["T"] @ V["A"]),
    ("einsum", ("...i->...", ("T",)), V["T"].sum(-1)),
    ("tensordot", ("X", "A", 1), V["X"] @ V["A"]),
    ("tensordot", ("X", "Y"), np.tensordot(V["X"], V["Y"])),
    (
        "tensordot",
        ("T", "B", ((0, 2), (0, 1))),
        np.tensordot(V["T"], V["B"], ((0, 2), (0, 1))),
    ),
    ("trace", ("A",), np.trace(V["A"])),
    ("tr", ("F",), np.trace(V["F"])),
    ("diag", ("v",), np.diag(V["v"])),
    ("diag", ("v", 1), np.diag(V["v"], 1)),
    ("diag", ("v", -2), np.diag(V["v"], -2)),
    ("diag", ("A",), np.diag(V["A"])),
    ("diag", ("A", -1), np.diag(V["A"], -1)),
    ("diagonal", ("F",), np.diagonal(V["F"])),
    ("diagonal", ("F", 3), np.diagonal(V["F"], 3)),
    ("diagonal", ("B", 0, 1, 2), np.diagonal(V["B"], 0, 1, 2)),
    ("tril", ("A",), np.tril(V["A"])),
    ("tril", ("B", -1), np.tril(V["B"], -1)),
    ("triu", ("X", 1), np.triu(V["X"], 1)),
    ("transpose", ("T",), V["T"].T),
    ("transpose", ("T", (1, 0, -1)), V["T"].transpose(1, 0, 2)),
    ("inv", ("B",), np.linalg.inv(V["B"])),
    ("det", ("A",), np.linalg.det(V["A"])),
    ("logdet", ("B",), np.linalg.slogdet(V["B"])[1]),
    ("solve", ("A", "v"), np.linalg.solve(V["A"], V["v"])),
    ("solve", ("B", "A"), np.linalg.solve(V["B"], V["A"])),
    ("cholesky", ("A",), np.linalg.cholesky(symmetrised(V["A"]))),
    ("cholesky", ("B",), np.linalg.cholesky(symmetrised(V["B"]))),
    ("expm", ("B",), scipy.linalg.expm(V["B"])),
    ("sqrtm", ("A",), scipy.linalg.sqrtm(symmetrised(V["A"]))),
    ("logm", ("A",), scipy.linalg.logm(symmetrised(V["A"]))),
    ("eigvalsh", ("B",), np.linalg.eigvalsh(symmetrised(V["B"]))),
    ("eigvecsh", ("A",), np.linalg.eigh(symmetrised(V["A"]))[1]),
    ("svdvals", ("B",), np.linalg.svd(V["B"], compute_uv=False)),
    ("svdvals", ("F",), np.linalg.svd(V["F"], compute_uv=False)),
    ("norm", ("F", "nuc"), np.linalg.norm(V["F"], "nuc")),
    ("norm", ("X", "fro"), np.linalg.norm(V["X"])),
    ("pinv", ("X",), np.linalg.pinv(V["X"])),
    ("pinv", ("T",), np.linalg.pinv(V["T"])),
    ("solve_triangular", ("A", "v"), np.linalg.solve(np.triu(V["A"]), V["v"])),
    ("solve_triangular", ("B", "A", True), np.linalg.solve(np.tril(V["B"]), V["A"])),
    *[
        ("matrix_power", ("B", power), np.linalg.matrix_power(V["B"], power))
        for power in (-3, -1, 0, 1, 2, 7)
    ],
    ("toeplitz", ("v",), scipy.linalg.toeplitz(V["v"])),
    ("toeplitz", ("v", "u"), scipy.linalg.toeplitz(V["v"], V["u"])),
    ("block_diag", (("X", "A", "F"),), scipy.linalg.block_diag(V["X"], V["A"], V["F"])),
    ("spd", ("B",), V["B"]),
    ("symmetric", ("B",), V["B"]),
    ("stop_gradient", ("B",), V["B"]),
    ("eye", (N,), np.eye(4)),
    ("eye", (M, N), np.eye(3, 4)),
    ("ones", ((M, N),), np.ones((3, 4))),
    ("zeros", ((M, N),), np.zeros((3, 4))),
    ("full", ((M, N), "v"), np.full((3, 4), V["v"])),
    ("arange", (N,), np.arange(4)),
    ("arange", (Dim.of(2), N), np.arange(2, 4)),
    ("reshape", ("thin", (M, N)), V["thin"][:, 0]),
    ("reshape", ("v", (Dim.of(1), N, Dim.of(1))), V["v"][None, :, None]),
    ("reshape", ("X", (N, M)), V["X"].reshape(4, 3)),
    ("reshape", ("T", (M, Dim.of(-1))), V["T"].reshape(3, 8)),
    ("ravel", ("v",), V["v"]),
    ("ravel", ("T",), V["T"].ravel()),
    ("concatenate", (("v", "u"),), np.concatenate([V["v"], V["u"]])),
    ("concatenate", (("X", "A"),), np.concatenate([V["X"], V["A"]])),
    ("concatenate", (("X", "Y"), -1), np.concatenate([V["X"], V["Y"]], -1)),
    ("stack", (("v", "w"),), np.stack([V["v"], V["w"]])),
    ("stack", (("X", "Y"), 1), np.stack([V["X"], V["Y"]], 1)),
    ("stack", (("c", "c"),), np.stack([V["c"], V["c"]])),
    ("expand_dims", ("X", 1), V["X"][:, None]),
    ("expand_dims", ("X", (0, -1)), V["X"][None, :, :, None]),
    ("squeeze", ("thin",), V["thin"][:, 0]),
    ("squeeze", ("thin", 1), V["thin"][:, 0]),
    ("broadcast_to", ("v", (M, N)), np.broadcast_to(V["v"], (3, 4))),
    ("broadcast_to", ("thin", (M, K, N)), np.broadcast_to(V["thin"], (3, 2, 4))),
    ("flip", ("X",), np.flip(V["X"])),
    ("flip", ("X", 1), np.flip(V["X"], 1)),
    ("roll", ("v", 1), np.roll(V["v"], 1)),
    ("roll", ("v", -3), np.roll(V["v"], -3)),
    ("roll", ("p", 7), np.roll(V["p"], 7)),
    ("roll", ("X", 2, 0), np.roll(V["X"], 2, 0)),
    ("roll", ("v", 0), V["v"]),
    ("var", ("X", 0, False, 1), V["X"].var(0, ddof=1)),
    ("std", ("X", 1), V["X"].std(1)),
    ("std", ("X", None, True, 2), V["X"].std(ddof=2, keepdims=True)),
    ("diff", ("v",), np.diff(V["v"])),
    ("diff", ("X", 2, 0), np.diff(V["X"], 2, 0)),
    ("pad", ("v", 2), np.pad(V["v"], 2)),
    ("pad", ("X", (1, 2)), np.pad(V["X"], (1, 2))),
    ("pad", ("X", ((0, 1), (2, 0))), np.pad(V["X"], ((0, 1), (2, 0)))),
    *[
        (name, ("v", "p", mode), function(V["v"], V["p"], mode))
        for name, function in (("convolve", np.convolve), ("correlate", np.correlate))
        for mode in ("full", "same", "valid")
    ],
    *[
        (name, ("F", "corner", mode), function(V["F"], V["corner"], mode))
        for name, function in (
            ("convolve", scipy.signal.convolve),
            ("correlate", scipy.signal.correlate),
        )
        for mode in ("full", "same", "valid")
    ],
    ("interp", ("X", "knots", "v"), np.interp(V["X"], V["knots"], V["v"])),
    ("spline", ("X", "knots", "v"), splined(V["X"], V["knots"], V["v"])),
    ("repeat", ("X", Dim.of(2)), np.repeat(V["X"], 2)),
    ("repeat", ("X", K, 0), np.repeat(V["X"], 2, 0)),
    ("tile", ("v", (K,)), np.tile(V["v"], 2)),
    ("tile", ("v", (M, Dim.of(2))), np.tile(V["v"], (3, 2))),
    ("tile", ("T", (K, Dim.of(1))), np.tile(V["T"], (2, 1))),
    ("mod", ("X", "w"), np.mod(V["X"], V["w"])),
    ("atan2", ("v", "w"), np.arctan2(V["v"], V["w"])),
    ("pow", ("X", "w"), V["X"] ** V["w"]),
    ("hypot", ("X", "w"), np.hypot(V["X"], V["w"])),
    ("maximum", ("v", "c"), np.maximum(V["v"], V["c"])),
    ("arcsin", ("v",), np.arcsin(V["v"])),
]


@pytest.mark.parametrize(("name", "args", "expected"), CASES)
def test_a_function_has_numpys_value(
    name: str, args: tuple[object, ...], expected: Any
) -> None:
    bench = Bench()
    found = bench.value(bench.call(name, *args))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def _batched(name: str, *args: object) -> tuple[Any, Any]:
    """The value for stacked arguments at once, and one by one."""
    bench = Bench()
    function = FUNCTIONS[name]
    first = function.parameters[0].name
    rest = {
        p.name: bench.argument(p, arg)
        for p, arg in zip(function.parameters[1:], args, strict=False)
    }
    whole = bench.value(
        function.build(bench.build, **{first: bench.array("B", "s")}, **rest)
    )
    parts = []
    for k in range(SIZES["k"]):
        one = bench.build.graph.product(
            ("i", "j"),
            [(bench.array("B").node, ("s", "i", "j"))],
            constraints=[delta({"s": 1}, -k)],
        )
        parts.append(
            bench.value(function.build(bench.build, **{first: Array(one)}, **rest))
        )
    return whole, np.stack(parts)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("sum", (0,)),
        ("mean", (-1,)),
        ("var", ()),
        ("prod", (1,)),
        ("max", (0,)),
        ("norm", ()),
        ("norm", ("inf",)),
        ("logsumexp", (1,)),
        ("softmax", (0,)),
        ("log_softmax", ()),
        ("cumsum", (1,)),
        ("cumprod", (0,)),
        ("sort", (0,)),
        ("argsort", ()),
        ("median", (1,)),
        ("dot", ("v",)),
        ("dot", ("A",)),
        ("vdot", ("A",)),
        ("matmul", ("A",)),
        ("tensordot", ("A", 1)),
        ("trace", ()),
        ("diagonal", ()),
        ("tril", (1,)),
        ("transpose", ()),
        ("inv", ()),
        ("det", ()),
        ("logdet", ()),
        ("cholesky", ()),
        ("spd", ()),
        ("symmetric", ()),
        ("expm", ()),
        ("sqrtm", ()),
        ("convolve", ("corner",)),
        ("interp", ("knots", "v")),
        ("spline", ("knots", "v")),
        ("logm", ()),
        ("eigvalsh", ()),
        ("eigvecsh", ()),
        ("svdvals", ()),
        ("pinv", ()),
        ("solve_triangular", ("v",)),
        ("matrix_power", (3,)),
        ("matrix_power", (0,)),
        ("kron", ("A",)),
        ("reshape", ((N * N,),)),
        ("ravel", ()),
        ("solve", ("v",)),
        ("solve", ("A",)),
        ("expand_dims", (0,)),
        ("broadcast_to", ((K, N, N),)),
        ("flip", ()),
        ("roll", (1, 0)),
        ("pow", ("v",)),
        ("maximum", ("c",)),
        ("exp", ()),
    ],
)
def test_named_leading_axes_stand_aside(name: str, args: tuple[object, ...]) -> None:
    whole, parts = _batched(name, *args)
    np.testing.assert_allclose(whole, parts, atol=1e-12)


def test_lists_of_arrays_align_their_named_axes() -> None:
    bench = Bench()
    arrays = [bench.array("X", "i"), bench.array("v")]
    joined = FUNCTIONS["concatenate"].build(bench.build, arrays=arrays)
    assert joined.batch == ("i",)
    expected = np.concatenate([V["X"], np.tile(V["v"], (3, 1))], 1)
    np.testing.assert_allclose(bench.value(joined), expected)
    stacked = FUNCTIONS["stack"].build(bench.build, arrays=arrays[::-1])
    expected = np.stack([np.tile(V["v"], (3, 1)), V["X"]], 1)
    np.testing.assert_allclose(bench.value(stacked), expected)
    product = FUNCTIONS["einsum"].build(
        bench.build, subscripts="a,a", operands=[arrays[0], bench.array("X", "j")]
    )
    assert product.batch == ("i", "j")
    np.testing.assert_allclose(bench.value(product), V["X"] @ V["X"].T)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sum", lambda x: x.sum()),
        ("mean", lambda x: x.mean()),
        ("var", lambda x: x.var()),
        ("prod", lambda x: x.prod()),
        ("max", lambda x: x.max()),
        ("min", lambda x: x.min()),
        ("norm", lambda x: np.sqrt((x * x).sum())),
        ("logsumexp", lambda x: np.log(np.exp(x).sum())),
    ],
)
def test_a_mask_leaves_entries_out_of_a_reduction(
    name: str, expected: Callable[[Any], Any]
) -> None:
    bench = Bench()
    graph = bench.build.graph
    # Entries from 1 on, and of those the ones below one half.
    weight = graph.product((0,), [], constraints=[indicator({0: 1}, -1)], sizes={0: N})
    half = Array(graph.constant(1))
    below = elementwise(bench.build, "less", [bench.array("v"), half])
    mask = Mask(Array(weight), below)
    found = FUNCTIONS[name].build(bench.build, x=bench.array("v"), mask=mask)
    kept = V["v"][1:][V["v"][1:] < 1]
    np.testing.assert_allclose(bench.value(found), expected(kept))


def test_every_row_is_tested_and_documented() -> None:
    tested = {name for name, _, _ in CASES}
    own = [row for row in FUNCTIONS.values() if row.shape != "broadcast"]
    assert [row.name for row in own if row.name not in tested] == []
    assert [row.name for row in FUNCTIONS.values() if not row.doc.endswith(".")] == []
    assert [row.name for row in FUNCTIONS.values() if not row.shape] == []


def test_a_signature_gives_the_parameters() -> None:
    row: Function = FUNCTIONS["einsum"]
    assert str(row) == "einsum(subscripts, *operands)"
    assert row.parameters == (
        Parameter("subscripts", "string", True, False),
        Parameter("operands", "arrays", True, True),
    )
    kinds = [p.kind for p in FUNCTIONS["norm"].parameters]
    assert kinds == ["array", "order", "axes", "flag"]
    assert not FUNCTIONS["norm"].parameters[1].required


def test_what_derivatives_alone_use_is_no_function_of_the_language() -> None:
    hidden = ("inverse", "unit", "rnorm", "step", "less", "logical_and", "prod_others")
    assert [name for name in hidden if name in FUNCTIONS] == []
