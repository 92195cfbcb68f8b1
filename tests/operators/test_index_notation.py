"""Nodes read as a person would write them in index notation."""

from __future__ import annotations

from fractions import Fraction

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Lookup, Node, delta, indicator
from tensorgen.operators.index_notation import dump, equation, equations, formula

n, m = Dim.of("n"), Dim.of("m")


class Example:
    """Some inputs and a graph."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.A = self.graph.input("A", (n, n))
        self.X = self.graph.input("X", (m, n))
        self.x = self.graph.input("x", (n,))
        self.y = self.graph.input("y", (m,))
        self.s = self.graph.input("s", ())

    def power(self, node: Node, exponent: int) -> Node:
        labels = range(node.order)
        number = self.graph.constant(exponent)
        return self.graph.map("pow", labels, [(node, labels), (number, ())])


def test_a_contraction_shows_its_sum_and_names_its_parts() -> None:
    e = Example()
    z = e.graph.name(e.graph.einsum("ij,j->i", e.X, e.x), "z")
    t = e.graph.map("sigmoid", "i", [(z, "i")])
    f = e.graph.einsum("ij,i,i->j", e.X, e.y, t)
    assert formula(f, e.graph.names) == "sum_j X[j, i] * y[j] * sigmoid(z[j])"
    assert equation("z", z, e.graph.names) == "z[i] = sum_j X[i, j] * x[j]"
    assert formula(f) == "sum_j X[j, i] * y[j] * sigmoid(sum_k X[j, k] * x[k])"


def test_letters_avoid_the_names_of_inputs_and_dims() -> None:
    graph = Graph()
    i, matrix = graph.input("i", ("k",)), graph.input("j", ("k", "k"))
    assert formula(graph.einsum("ab,b->a", matrix, i)) == "sum_m j[l, m] * i[m]"


def test_a_slice_stands_in_the_subscript() -> None:
    e = Example()
    shift = delta({"p": 1, "i": -1}, -1)
    tail = e.graph.product("i", [(e.x, "p")], constraints=[shift], sizes={"i": n - 1})
    assert formula(tail) == "x[i + 1]"
    last = e.graph.product([], [(e.x, "p")], constraints=[delta({"p": 1}, 1 - n)])
    assert formula(last) == "x[n - 1]"
    flip = delta({"p": 1, "i": 1}, 1 - n)
    turned = e.graph.product("i", [(e.x, "p")], constraints=[flip], sizes={"i": n})
    assert formula(turned) == "x[n - i - 1]"


def test_deltas_and_indicators_stand_behind_what_they_select() -> None:
    e = Example()
    equal = delta({"i": 1, "j": -1})
    diagonal = e.graph.product("ij", [(e.x, "i")], constraints=[equal], sizes={"j": n})
    assert formula(diagonal) == "x[i] * delta[i, j]"
    for form, text in (
        ({"j": 1, "i": -1}, "[i <= j]"),
        ({"i": 1, "j": -1}, "[j <= i]"),
    ):
        node = e.graph.product("ij", [(e.A, "ij")], constraints=[indicator(form)])
        assert formula(node) == f"A[i, j] * {text}"
    strict = e.graph.product(
        "ij", [(e.A, "ij")], constraints=[indicator({"j": 1, "i": -1}, -1)]
    )
    assert formula(strict) == "A[i, j] * [i < j]"
    assert formula(e.graph.unit((n,))) == "delta[i, j]"


def test_a_lookup_is_a_subscript_or_a_delta() -> None:
    e = Example()
    row = e.graph.input("row", (m,), index=n)
    entry, place = 0, 1
    at_row = delta({place: 1, Lookup(row, (entry,)): -1})
    gather = e.graph.product([entry], [(e.x, [place])], constraints=[at_row])
    assert formula(gather) == "x[row[i]]"
    scatter = e.graph.product(
        [place], [(e.y, [entry])], constraints=[at_row], sizes={place: n}
    )
    assert formula(scatter) == "sum_{j: row[j] == i} y[j]"
    # A part of an index array: its entries from the second on.
    shift = delta({"p": 1, "i": -1}, -1)
    tail = e.graph.product("i", [(row, "p")], constraints=[shift], sizes={"i": m - 1})
    at_tail = delta({place: 1, Lookup(tail, (entry,)): -1})
    later = e.graph.product([entry], [(e.x, [place])], constraints=[at_tail])
    assert formula(later) == "x[row[i + 1]]"


def test_labels_that_fix_each_other_by_lookups_keep_a_delta() -> None:
    e = Example()
    col, y = e.graph.input("col", (m,), index=m), e.y
    each_other = [delta({a: 1, Lookup(col, (b,)): -1}) for a, b in ((0, 1), (1, 0))]
    pairs = e.graph.product([], [(y, [0]), (y, [1])], constraints=each_other)
    assert formula(pairs) == "sum_{i: col[col[i]] == i} y[col[i]] * y[i]"


def test_signs_coefficients_and_quotients_read_as_written() -> None:
    e = Example()
    g = e.graph
    halved = g.product("i", [(e.x, "i"), (e.power(e.s, -1), "")], coefficient=-3)
    assert formula(halved) == "-3 * x[i] / s"
    assert formula(e.power(e.s, -1)) == "1 / s"
    assert formula(g.sum("i", [(-1, e.x, "i"), (2, e.s, "")])) == "2 * s - x[i]"
    square = e.power(g.sum("i", [(1, e.x, "i"), (1, e.s, "")]), 2)
    assert formula(square) == "(x[i] + s)**2"
    assert formula(g.einsum("i,i->i", e.x, e.x)) == "x[i]**2"
    both = g.einsum("i,i->i", g.sum("i", [(1, e.x, "i"), (1, e.s, "")]), e.x)
    assert formula(both) == "x[i] * (x[i] + s)"
    inner = e.power(g.einsum("ij,j->i", e.A, e.x), 2)
    assert formula(g.einsum("i->", inner)) == "sum_i (sum_j A[i, j] * x[j])**2"
    condition = g.map("less", "i", [(e.x, "i"), (e.s, "")])
    assert formula(g.map("where", "i", [(condition, "i"), (e.x, "i"), (e.s, "")])) == (
        "where(x[i] < s, x[i], s)"
    )


def test_reductions_show_what_they_run_over() -> None:
    e = Example()
    sine = e.graph.map("sin", "ij", [(e.X, "ij")])
    total = e.graph.call("logsumexp", [sine], (m,), axes=(1,))
    assert formula(total) == "logsumexp_j(sin(X[i, j]))"
    softmax = e.graph.call("softmax", [e.X], (m, n), axes=(0, 1))
    assert formula(softmax) == "softmax_ij(X[i, j])"


def test_the_argument_of_a_matrix_function_gets_a_name() -> None:
    e = Example()
    gram = e.graph.einsum("ki,kj->ij", e.X, e.X)
    node = e.graph.einsum("ij,j->i", e.graph.call("inv", [gram], (n, n)), e.x)
    assert formula(node).splitlines() == [
        "sum_j inv(T1)[i, j] * x[j]",
        "where T1[i, j] = sum_k X[k, i] * X[k, j]",
    ]
    assert formula(e.graph.call("inv", [e.A], (n, n))) == "inv(A)[i, j]"


def test_a_large_formula_is_split_and_a_deep_one_stays_short() -> None:
    e = Example()
    node = e.x
    for _ in range(60):
        node = e.graph.map("tanh", "i", [(e.graph.einsum("ij,j->i", e.A, node), "i")])
    lines = formula(node).splitlines()
    assert len(lines) > 5
    assert max(map(len, lines)) < 300
    square = e.x
    for _ in range(30):
        square = e.graph.einsum("i,i->i", square, square)
    assert len(formula(square)) < 2000


def test_a_dump_lists_every_node_once_with_its_shape() -> None:
    e = Example()
    z = e.graph.einsum("ij,j->i", e.X, e.x)
    node = e.graph.einsum("i,i->", z, e.graph.map("exp", "i", [(z, "i")]))
    assert dump([node]).splitlines() == [
        "X[i, j]: (m, n)",
        "x[i]: (n)",
        "%0[i]: (m) = sum_j X[i, j] * x[j]",
        "%1[i]: (m) = exp(%0[i])",
        "%2: () = sum_i %0[i] * %1[i]",
    ]


def test_a_part_that_several_formulas_share_is_named_once_behind_them() -> None:
    e = Example()
    graph = e.graph
    t = graph.map("tanh", "i", [(graph.einsum("ij,j->i", e.X, e.x), "i")])
    p = graph.map("exp", "i", [(graph.map("sin", "i", [(t, "i")]), "i")])
    roots = [("a", graph.einsum("i,ij->j", p, e.X)), ("b", graph.einsum("i,i->", p, p))]
    assert equations(roots) == [
        "a[i] = sum_j X[j, i] * T1[j]",
        "b = sum_i T1[i]**2",
        "where T1[i] = exp(sin(tanh(sum_j X[i, j] * x[j])))",
    ]


def test_a_name_stands_for_multiples_and_for_other_orders_of_axes() -> None:
    e = Example()
    graph = e.graph
    t = graph.name(graph.product("i", [(e.X, "ij"), (e.x, "j")], coefficient=-2), "t")
    half = graph.product("i", [(e.X, "ij"), (e.x, "j")])
    names = graph.names
    assert formula(graph.map("sin", "i", [(half, "i")]), names) == "sin(-1/2 * t[i])"
    assert formula(graph.map("sin", "i", [(t, "i")]), names) == "sin(t[i])"
    # The definition itself is spelled out.
    assert equation("t", t, names) == "t[i] = -2 * sum_j X[i, j] * x[j]"
    g = graph.name(graph.einsum("ij,i,k->kij", e.X, e.y, e.y), "g")
    turned = graph.einsum("ij,i,k->ikj", e.X, e.y, e.y)
    assert formula(graph.map("sin", "ijk", [(turned, "ijk")]), names) == (
        "sin(g[j, i, k])"
    )
    inner = graph.map("sin", "ij", [(e.X, "ij")])
    graph.name(graph.einsum("ij->ji", inner), "s")
    assert formula(graph.map("exp", "ij", [(inner, "ij")]), names) == "exp(s[j, i])"
    assert formula(g) == "X[j, k] * y[i] * y[j]"


def test_divisors_stand_below_the_line_and_decimals_are_short() -> None:
    e = Example()
    graph = e.graph
    square = e.power(e.x, -2)
    assert formula(square) == "1 / x[i]**2"
    assert formula(graph.einsum("ij,j->ij", e.X, square)) == "X[i, j] / x[j]**2"
    unit = graph.call("unit", [e.x], e.x.dims, axes=(0,))
    assert formula(unit) == "x[i] / norm_j(x[j])"
    inverse = graph.call("rnorm", [e.x], (), axes=(0,))
    assert formula(graph.einsum("i,->i", e.y, inverse)) == "y[i] / norm_j(x[j])"
    both = e.power(graph.einsum("i,->i", e.x, e.s), -1)
    whole = graph.einsum("ji,j,i->ji", e.X, e.power(e.y, -1), both)
    assert formula(whole) == "X[i, j] / (s * x[j] * y[i])"
    small = graph.sum("i", [(Fraction(1, 1000), graph.constant(1), ""), (1, e.x, "i")])
    assert formula(small) == "x[i] + 0.001"
    assert formula(graph.einsum("i->i", e.x)) == "x[i]"
    condition = graph.map("less", "i", [(e.x, "i"), (e.s, "")])
    assert formula(graph.map("logical_not", "i", [(condition, "i")])) == "~(x[i] < s)"
    n_by_m = graph.size(n * m)
    assert formula(graph.einsum("i,->i", e.x, e.power(n_by_m, -1))) == "x[i] / (m*n)"
