"""Derivatives tied by index arrays: graphs, meshes, lists of pairs, at a small size.

Each is held against the dense derivative, method by method; `entries` says how many
numbers it may hold, so that a block for each element and the index arrays are all.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.made import generate, load, source
from tests.programs.check_structured import check
from tests.programs.structured import Shape, StructuredProgram, Term, structured_program

HESSIAN = ("gradient", "hessian", "dense_hessian", "hvp")
JACOBIAN = ("jacobian", "dense_jacobian", "jvp")
SHAPES: dict[str, Shape] = {
    "x": ("n", "k"),
    "v": ("n",),
    "y": ("m", "k"),
    "s": ("e",),
    "t": ("e",),
    "u": ("e",),
    "corner": ("e", "c"),
    "P": ("e", "c"),
    "weight": ("e",),
}
INDICES = {"s": "n", "t": "n", "u": "m", "corner": "n"}
# Hints as of a large graph; the arguments are small.
LARGE = {"n": 10**5, "m": 10**5, "e": 10**6, "k": 3, "c": 3}
SIZES = {"n": 4, "m": 3, "e": 6, "k": 2, "c": 3}


def program(
    expr: str,
    entries: str,
    emit: tuple[Any, ...] = HESSIAN,
    left: str = "f",
    wrt: tuple[str, ...] = ("x",),
    shape: Shape = ("n", "k"),
) -> StructuredProgram:
    return replace(
        structured_program(0),
        terms=(Term(expr, entries),),
        emit=emit,
        left=left,
        wrt=wrt,
        shapes=SHAPES | {"x": shape},
        indices=INDICES,
        sizes=SIZES,
        hints="large",
    )


def spec(program: StructuredProgram) -> str:
    """The text, with the hints of a large graph."""
    first, module, _, *rest = program.text.splitlines()
    hints = ", ".join(f"{dim}: {size}" for dim, size in LARGE.items())
    return "\n".join([first, module, f"dims: {{{hints}}}", *rest, ""])


DISTANCE = "sqrt(1 + sum((x[s[i], d] - x[t[i], d])**2, d))"
STRAIN = "sum(P[i, a] * x[corner[i, a], d], a)"
DISTANCE_TO_PAIR = "sum((weight[i] - sum(x[s[i], d] * y[u[i], d], d))**2, i)"
CASES = {
    "springs on a line": program(
        "sum(weight[i] * sin(x[s[i]] - x[t[i]]), i)", "3 * e", shape=("n",)
    ),
    "harmonic springs": program("sum((x[s[i], d] - x[t[i], d])**2, i, d)", "2 * e + 2"),
    "springs": program(f"sum(weight[i] * ({DISTANCE} - 1)**2, i)", "e * k**2 + 2 * e"),
    "springs and a diagonal": program(
        f"sum(weight[i] * {DISTANCE}, i) + sum(x**4)", "e * k**2 + 2 * e + n * k"
    ),
    "a mesh": program(
        f"sum(exp(sum(({STRAIN})**2, d)), i)", "e * c * c * k * k + e * c"
    ),
    "pairs with an offset": program(
        "sum(weight[i] * sin(x[s[i]] * v[s[i]] + 2 * x[t[i]]), i)",
        "4 * e",
        shape=("n",),
    ),
    "gathered": program(
        "sin(x[s[i], d] * x[t[i], d])", "2 * e * k + 2 * e", JACOBIAN, "f[i, d]"
    ),
    "chosen entries": program("exp(x[s[i], 1])", "2 * e + k", JACOBIAN, "f[i]"),
    "order three": program(
        "sum(weight[i] * sin(x[s[i]] - x[t[i]]), i)",
        "3 * e",
        ("dense_hessian", 3),
        shape=("n",),
    ),
    "two inputs": program(
        "sum((weight[i] - sum(x[s[i], d] * y[u[i], d], d))**2, i)"
        " + sum(x**2) + sum(y**2)",
        "",
        ("gradient", "hessian", "dense_hessian"),
        wrt=("x", "y"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_structure_of_elements_agrees_with_the_dense_one(name: str) -> None:
    case = CASES[name]
    assert not list(check(case, load(spec(case))))


def test_the_ends_of_an_element_share_its_block() -> None:
    case = CASES["springs"]
    H = load(spec(case)).f_hess(**case.arguments())
    assert {*H.factors} == {"A", "s", "t"}
    assert H.factors["A"].shape == (6, 2, 2)
    assert H.factors["s"].dtype.kind == "i" and H.dtype == float
    assert type(H.factorize(5.0)).__name__ == "_SparseFactorization"


def test_two_blocks_of_pairs_are_solved_without_a_dense_one() -> None:
    case = CASES["two inputs"]
    H = load(spec(case)).f_hess(**case.arguments())
    cross = H.blocks["x", "y"]
    assert {"s", "u"} <= {*cross.factors}
    assert all(array.size < 50 for array in cross.factors.values())


def test_blocks_that_hold_less_than_their_elements_are_added_up() -> None:
    case = program("sum(weight[i] * sin(x[s[i], d] * x[s[i], 0]), i, d)", "")
    H = load(spec(case)).f_hess(**case.arguments())
    assert [array.shape for array in H.factors.values()] == [(4, 2, 2)]


def test_the_pattern_follows_from_the_index_arrays() -> None:
    text = generate(spec(CASES["springs"]))
    assert "the pattern depends on shapes and index arrays alone" in text


def test_the_docstring_says_where_entries_are_and_the_object_what_they_are() -> None:
    strain = "sum(P[i, a] * x[corner[i, a]], a)"
    long = " * ".join(f"{f}(1 + {strain}**2)" for f in ("exp", "sin", "log", "sqrt"))
    case = program(f"sum({long}, i)", "", shape=("n",))
    module: Any = load(spec(case))
    *_, structure = module.f_hess.__doc__.split("Structure:")
    words, *_ = structure.strip().splitlines()
    assert words == "entries at (corner[i, j], corner[i, k])"
    equation = module.f_hess(**case.arguments()).structure.partition(": ")[2]
    pair = "sum_{k,l,m: corner[k, l] == i, corner[k, m] == j}"
    assert equation.startswith(f"H[i, j] = 2 * ({pair} P[k, l] * P[k, m]")


def test_many_entries_of_several_inputs_are_eliminated_as_a_sparse_matrix() -> None:
    case = replace(CASES["two inputs"], sizes=SIZES | {"n": 1600, "m": 1700, "e": 1800})
    arguments = case.arguments()
    H = load(spec(case)).f_hess(**arguments)
    b = np.random.default_rng(0).normal(size=H.shape[0])
    factorization = H.factorize(50.0)
    assert type(factorization).__name__ == "_SparseFactorization"
    step = factorization.solve(b)
    assert abs(H @ step + 50 * step - b).max() < 1e-9


def test_blocks_may_stay_apart_where_few_rows_have_elements() -> None:
    sizes = SIZES | {"n": 30, "e": 4, "k": 3}
    case = replace(CASES["two inputs"], wrt=("x",), sizes=sizes, hints="own")
    case = replace(case, emit=HESSIAN, terms=(Term(DISTANCE_TO_PAIR, "n * k"),))
    module: Any = load(case.text)
    assert not list(check(case, module))
    H = module.f_hess(**case.arguments())
    assert "s" in H.factors
    assert type(H.factorize(1.0)).__name__ == "_BlockFactorization"


def test_places_do_not_overflow_the_integers_of_index_arrays() -> None:
    case = replace(CASES["springs"], sizes=SIZES | {"n": 200})
    arguments = case.arguments()
    H = load(spec(case)).f_hess(**arguments)
    small = {name: arguments[name].astype(np.uint8) for name in ("s", "t")}
    narrow = load(spec(case)).f_hess(**arguments | small)
    for places, expected in zip(narrow.coo(), H.coo(), strict=True):
        np.testing.assert_array_equal(places, expected)


LAYER = """tensorgen: 1
dims: {{n: 2000, E: 15000, d: 64, h: 32}}
inputs: {{H: [n, d], W: [d, h], a: [E], T: [n, h], {edges}}}
functions:
  f:
    where: |
      msg[e, k] = a[e]*tanh({read})
      agg[i, k] = {added}
    expr: sum((tanh(agg) - T)**2)
    wrt: [H, W, a]
    emit: [gradient, hvp]
"""
BY_EDGE = LAYER.format(
    edges="src: {shape: [E], index: n}, dst: {shape: [E], index: n}",
    read="sum(H[src[e], j]*W[j, k], j)",
    added="sum(msg[e, k], e, dst[e] == i)",
)
ONE_HOT = LAYER.format(
    edges="S: [E, n], D: [n, E]",
    read="sum(S[e, q]*H[q, j]*W[j, k], q, j)",
    added="sum(D[i, e]*msg[e, k], e)",
)


def test_a_layer_of_messages_reads_and_adds_rows() -> None:
    text = generate(BY_EDGE)
    assert not re.search(r"take\(\w+, axis=1\)|_add_at\([^,]*\.T,", text)
    body = source(text, "f_hvp")
    assert "np.add.at" not in body and body.count("_sum_rows_by_key(") <= 4


@pytest.mark.parametrize("edges", [[(0, 1), (2, 1), (0, 3), (2, 2)], []])
def test_a_layer_of_messages_is_that_of_one_hot_matrices(
    edges: list[tuple[int, int]],
) -> None:
    rng = np.random.default_rng(0)
    src, dst = np.array(edges, int).reshape(-1, 2).T
    given = {"H": (5, 3), "W": (3, 2), "a": (len(src),)}
    data = {x: rng.normal(size=shape) for x, shape in given.items()}
    moves = {f"d{x}": rng.normal(size=shape) for x, shape in given.items()}
    data["T"] = rng.normal(size=(5, 2))
    hot = {"S": np.eye(5)[src], "D": np.eye(5)[dst].T}
    for name, more in (("f_grad", {}), ("f_hvp", moves)):
        found = getattr(load(BY_EDGE), name)(**data, src=src, dst=dst, **more)
        expected = getattr(load(ONE_HOT), name)(**data, **hot, **more)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)
