"""The text of the usual cases, as an expert would write it, and its value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node
from tensorgen.operators.calls import apply, exponentials
from tests.counting import calls
from tests.lower.support import as_text, check

SIZES = {"m": 4, "n": 3, "k": 2, "b": 2}


class Case:
    """A graph with the inputs that the cases use."""

    def __init__(self) -> None:
        g = self.g = Graph()
        self.A = g.input("A", ["m", "n"])
        self.B = g.input("B", ["m", "n"])
        self.C = g.input("C", ["n", "k"])
        self.S = g.input("S", ["n", "n"])
        self.x = g.input("x", ["n"])
        self.y = g.input("y", ["n"])
        self.d = g.input("d", ["m"])
        self.lam = g.input("lam", [])
        self.P = g.input("P", ["b", "m", "n"])
        self.Q = g.input("Q", ["b", "n", "k"])
        self.V = g.input("V", ["b", "m"])

    def power(self, node: Node, exponent: int | Fraction) -> Node:
        axes = range(node.order)
        return self.g.map("pow", axes, [(node, axes), (self.g.constant(exponent), ())])

    def residual(self) -> Node:
        fitted = self.g.einsum("ij,j->i", self.A, self.x)
        return self.g.sum("i", [(1, fitted, "i"), (-1, self.d, "i")])

    def mask(self) -> Node:
        return self.g.map("greater", "i", [(self.d, "i"), (self.g.constant(0), "")])


def lines(graph: Graph, roots: Sequence[Node]) -> list[str]:
    code = as_text(graph, roots)
    return [*code.lines, "return " + ", ".join(code.returns)]


ONE_LINE: dict[str, Callable[[Case], Node]] = {
    # Matrices and vectors.
    "A @ x": lambda c: c.g.einsum("ij,j->i", c.A, c.x),
    "A.T @ d": lambda c: c.g.einsum("ij,i->j", c.A, c.d),
    "A @ C": lambda c: c.g.einsum("ij,jk->ik", c.A, c.C),
    "C.T @ A.T": lambda c: c.g.einsum("ij,jk->ki", c.A, c.C),
    "A.T @ B": lambda c: c.g.einsum("ij,ik->jk", c.A, c.B),
    "B.T @ A": lambda c: c.g.einsum("ij,ik->kj", c.A, c.B),
    "A @ B.T": lambda c: c.g.einsum("ij,kj->ik", c.A, c.B),
    "A.T @ (d[:, None] * A)": lambda c: c.g.einsum(
        "ij,ik->jk", c.A, c.g.einsum("i,ik->ik", c.d, c.A)
    ),
    "d @ A @ x": lambda c: c.g.einsum("i,i->", c.g.einsum("ij,j->i", c.A, c.x), c.d),
    "S + S.T": lambda c: c.g.sum("ij", [(1, c.S, "ij"), (1, c.S, "ji")]),
    "2 * (S + S.T)": lambda c: c.g.sum("ij", [(2, c.S, "ij"), (2, c.S, "ji")]),
    "2 * (A.T @ (A @ x - d))": lambda c: c.g.einsum(
        "ij,i->j", c.A, c.residual(), coefficient=2
    ),
    "np.outer(2 * d, x)": lambda c: c.g.product(
        "ij", [(c.d, "i"), (c.x, "j")], coefficient=2
    ),
    "np.outer(x, d)": lambda c: c.g.product("ji", [(c.d, "i"), (c.x, "j")]),
    # Scalars and reductions.
    "x @ y": lambda c: c.g.einsum("i,i->", c.x, c.y),
    "x @ x": lambda c: c.g.product("", [(c.power(c.x, 2), "i")]),
    "np.vdot(A, B)": lambda c: c.g.einsum("ij,ij->", c.A, c.B),
    "np.vdot(A, A)": lambda c: c.g.product("", [(c.power(c.A, 2), "ij")]),
    "np.trace(S)": lambda c: c.g.product("", [(c.S, "ii")]),
    "np.diagonal(S).copy()": lambda c: c.g.product("i", [(c.S, "ii")]),
    "A.sum(axis=1)": lambda c: c.g.product("i", [(c.A, "ij")]),
    "A.sum()": lambda c: c.g.product("", [(c.A, "ij")]),
    "(A * B).sum(axis=1)": lambda c: c.g.einsum("ij,ij->i", c.A, c.B),
    "(A * B).sum(axis=0)": lambda c: c.g.einsum("ij,ij->j", c.A, c.B),
    "(A**2).sum(axis=1)": lambda c: c.g.einsum("ij,ij->i", c.A, c.A),
    "(x / y).sum()": lambda c: c.g.product("", [(c.x, "i"), (c.power(c.y, -1), "i")]),
    # Higher orders and batches.
    "P @ x": lambda c: c.g.einsum("bij,j->bi", c.P, c.x),
    "d @ P": lambda c: c.g.einsum("bij,i->bj", c.P, c.d),
    "P @ Q": lambda c: c.g.einsum("bij,bjk->bik", c.P, c.Q),
    "P @ C": lambda c: c.g.einsum("bij,jk->bik", c.P, c.C),
    "np.tensordot(V, P, axes=2)": lambda c: c.g.einsum("bi,bij->j", c.V, c.P),
    "(V[:, None] @ P)[:, 0]": lambda c: c.g.einsum("bij,bi->bj", c.P, c.V),
    # Elementwise.
    "-x / 3": lambda c: c.g.scale(c.x, Fraction(-1, 3)),
    "2 * lam * x * y": lambda c: c.g.product(
        "i", [(c.x, "i"), (c.lam, ""), (c.y, "i")], coefficient=2
    ),
    "x**2 * y": lambda c: c.g.product("i", [(c.x, "i"), (c.y, "i"), (c.x, "i")]),
    "d[:, None] * A * x": lambda c: c.g.product(
        "ij", [(c.A, "ij"), (c.x, "j"), (c.d, "i")]
    ),
    "A / d[:, None]": lambda c: c.g.product(
        "ij", [(c.A, "ij"), (c.power(c.d, -1), "i")]
    ),
    "x / y**2": lambda c: c.g.product("i", [(c.x, "i"), (c.power(c.y, -2), "i")]),
    "1 / x": lambda c: c.power(c.x, -1),
    "1 - x": lambda c: c.g.sum("i", [(-1, c.x, "i"), (1, c.g.constant(1), "")]),
    "x - 1": lambda c: c.g.sum("i", [(1, c.x, "i"), (-1, c.g.constant(1), "")]),
    "np.exp(-x)": lambda c: c.g.map("exp", "i", [(c.g.scale(c.x, -1), "i")]),
    "np.where(d > 0, 2 * d, 0)": lambda c: c.g.product(
        "i", [(c.mask(), "i"), (c.d, "i")], coefficient=2
    ),
    "(d > 0).astype(dtype).sum()": lambda c: c.g.product("", [(c.mask(), "i")]),
    # Calls.
    "np.linalg.slogdet(S)[1]": lambda c: apply(c.g, "logdet", [c.S]),
    "np.linalg.inv(S)": lambda c: apply(c.g, "inv", [c.S]),
    "np.linalg.solve(S, x)": lambda c: c.g.einsum(
        "ij,j->i", apply(c.g, "inv", [c.S]), c.x
    ),
    "np.linalg.solve(S.T, x)": lambda c: c.g.einsum(
        "ij,i->j", apply(c.g, "inv", [c.S]), c.x
    ),
    "np.linalg.solve(S, C)": lambda c: c.g.einsum(
        "ij,jk->ik", apply(c.g, "inv", [c.S]), c.C
    ),
    "np.trace(np.linalg.solve(S, S))": lambda c: c.g.einsum(
        "ij,ji->", apply(c.g, "inv", [c.S]), c.S
    ),
    "np.max(A, axis=1)": lambda c: apply(c.g, "max", [c.A], axes=(1,)),
    "np.max(A)": lambda c: apply(c.g, "max", [c.A], axes=(0, 1)),
    # Whole results.
    "x.copy()": lambda c: c.x,
    "A.T.copy()": lambda c: c.g.permute(c.A, (1, 0)),
    "+lam": lambda c: c.lam,
    "np.zeros(n, dtype=dtype)": lambda c: c.g.zeros([Dim.of("n")]),
    "np.ones((n, m), dtype=dtype)": lambda c: c.g.constant(
        1, [Dim.of("n"), Dim.of("m")]
    ),
    "np.full(n, lam, dtype=dtype)": lambda c: c.g.product(
        "i", [(c.lam, "")], sizes={"i": Dim.of("n")}
    ),
    "np.broadcast_to(x, (m, n)).copy()": lambda c: c.g.product(
        "ij", [(c.x, "j")], sizes={"i": Dim.of("m")}
    ),
}


@pytest.mark.parametrize("text", ONE_LINE)
def test_one_node_is_one_plain_expression(text: str) -> None:
    case = Case()
    node = ONE_LINE[text](case)
    assert lines(case.g, [node]) == ["return " + text]
    check(case.g, [node], SIZES)
    check(case.g, [node], SIZES, dtype="float32")


def test_what_the_user_named_gets_a_statement() -> None:
    case = Case()
    case.g.name(residual := case.residual(), "residual")
    value = case.g.einsum("i,i->", residual, residual)
    grad = case.g.einsum("ij,i->j", case.A, residual, coefficient=2)
    code = as_text(case.g, [value, grad], root_names=["value", "grad"])
    assert code.lines == (
        "residual = A @ x - d",
        "value = residual @ residual",
        "grad = 2 * (A.T @ residual)",
    )
    assert code.returns == ("value", "grad")


def test_a_name_that_is_taken_gets_a_suffix() -> None:
    case = Case()
    case.g.name(residual := case.residual(), "x")
    square = case.g.einsum("i,i->", residual, residual)
    code = as_text(case.g, [square], reserved=["x_2"])
    assert code.lines == ("x_3 = A @ x - d",)


def test_what_is_used_twice_is_computed_once_under_a_telling_name() -> None:
    case = Case()
    exps = case.g.map("exp", "i", [(case.x, "i")])
    total = case.g.product("", [(exps, "i")])
    share = case.g.product("i", [(exps, "i"), (case.power(total, -1), "")])
    assert lines(case.g, [share]) == ["exp_x = np.exp(x)", "return exp_x / exp_x.sum()"]


def test_a_multiple_of_another_value_reuses_it() -> None:
    case = Case()
    t = case.g.einsum("i,i->i", case.x, case.y, coefficient=-1)
    case.g.name(t, "t")
    sigmoids = [
        case.g.map("sigmoid", "i", [(node, "i")]) for node in (t, case.g.scale(t, -1))
    ]
    slope = case.g.product("i", [(node, "i") for node in sigmoids])
    code = check(case.g, [slope], SIZES)
    assert code.lines[0] == "t = -x * y"
    assert code.lines[1:] == ("sigmoid_t, sigmoid_neg_t = _sigmoid_and_complement(t)",)
    assert code.returns == ("sigmoid_t * sigmoid_neg_t",)
    assert code.helpers == ("_sigmoid_and_complement",)


def test_a_long_expression_is_broken_up_into_named_parts() -> None:
    case = Case()
    node: Node = case.x
    for function in ["sin", "tanh", "exp", "cos", "atan", "sinh", "asinh", "softplus"]:
        inner = case.g.map(function, "i", [(node, "i")])
        node = case.g.sum("i", [(1, inner, "i"), (3, case.y, "i")])
    code = check(case.g, [node], SIZES)
    assert 1 < len(code.lines) < 6
    assert all(len(line) < 80 for line in (*code.lines, *code.returns))


def test_an_inverse_used_by_itself_is_computed_once() -> None:
    case = Case()
    inverse = apply(case.g, "inv", [case.S])
    solved = case.g.einsum("ij,j->i", inverse, case.x)
    code = check(case.g, [inverse, solved], SIZES)
    assert code.lines == ("inv_S = np.linalg.inv(S)", "inv_S_x = inv_S @ x")


def test_one_factor_of_a_definite_matrix_serves_all() -> None:
    case = Case()
    K = case.g.input("K", ["n", "n"], ["spd"])
    inverse = apply(case.g, "inv", [K])
    solved = case.g.einsum("ij,j->i", inverse, case.x)
    roots = [
        apply(case.g, "logdet", [K]),
        solved,
        case.g.einsum("ij,jk->ik", inverse, case.C),
    ]
    code = check(case.g, roots, SIZES)
    assert code.lines[0] == "cholesky_K = np.linalg.cholesky(K)"
    assert code.lines[1:] == (
        "logdet_K = 2 * np.log(np.diagonal(cholesky_K)).sum()",
        "inv_K_x = _cholesky_solve(cholesky_K, x)",
        "inv_K_C = _cholesky_solve(cholesky_K, C)",
    )
    assert lines(case.g, [solved]) == [
        "cholesky_K = np.linalg.cholesky(K)",
        "return _cholesky_solve(cholesky_K, x)",
    ]
    unknown = case.g.einsum("ij,j->i", apply(case.g, "inv", [case.S]), case.x)
    known = lines(case.g, [unknown, apply(case.g, "logdet", [case.S])])
    assert not any("cholesky" in line for line in known)


def test_the_factor_of_a_definite_matrix_gives_its_inverse_too() -> None:
    case = Case()
    K = case.g.input("K", ["n", "n"], ["spd"])
    inverse = apply(case.g, "inv", [K])
    code = check(case.g, [inverse, apply(case.g, "logdet", [K])], SIZES)
    assert code.lines[0] == "cholesky_K = np.linalg.cholesky(K)"
    assert code.helpers == ("_cholesky_inverse",)
    assert not any("inv(K)" in line for line in (*code.lines, *code.returns))


def test_stacks_of_definite_matrices_are_factorised_at_once() -> None:
    case = Case()
    K = case.g.input("K", ["b", "n", "n"], ["spd"])
    rows = case.g.input("R", ["b", "n"])
    inverse = apply(case.g, "inv", [K])
    roots = [
        apply(case.g, "logdet", [K]),
        case.g.einsum("bij,bj->bi", inverse, rows),
        case.g.einsum("bij,j->bi", inverse, case.x),
        case.g.einsum("bij,bjk->bik", inverse, case.Q),
    ]
    code = check(case.g, roots, SIZES)
    assert sum("np.linalg" in line for line in code.lines) == 1


def test_symmetric_matrices_are_not_transposed() -> None:
    case = Case()
    K = case.g.input("K", ["n", "n"], ["symmetric"])
    roots = [
        case.g.einsum("ij,kj->ik", case.A, K),
        case.g.einsum("ji,jk->ik", K, case.C),
    ]
    texts = [line for root in roots for line in lines(case.g, [root])]
    assert texts == ["return A @ K", "return K @ C"]


def test_batched_systems_take_a_vector_as_a_column() -> None:
    case = Case()
    stack = case.g.input("T", ["b", "n", "n"])
    rows = case.g.input("R", ["b", "n"])
    inverse = apply(case.g, "inv", [stack])
    roots = [
        case.g.einsum("bij,bj->bi", inverse, rows),
        case.g.einsum("bij,j->bi", inverse, case.x),
        case.g.einsum("bij,bi->bj", inverse, rows),
    ]
    code = check(case.g, roots, SIZES)
    assert "np.linalg.solve(T, R[..., None])[..., 0]" in code.lines[0]
    assert "np.broadcast_to(x, (b, n))[..., None]" in code.lines[1]


def test_softmax_and_logsumexp_share_shift_and_exponentials() -> None:
    case = Case()
    softmax = apply(case.g, "softmax", [case.A], axes=(1,))
    logsumexp = apply(case.g, "logsumexp", [case.A], axes=(1,))
    code = check(case.g, [softmax, logsumexp], SIZES)
    assert code.lines == (
        "logsumexp_A, softmax_A = _guarded_logsumexp_and_softmax(A, axis=1)",
    )


def test_softmax_whose_parts_others_have_is_opened() -> None:
    case = Case()
    softmax = apply(case.g, "softmax", [case.A], axes=(1,))
    assert isinstance(softmax, Call)
    code = check(case.g, [softmax, exponentials(case.g, softmax)], SIZES)
    assert code.lines == (
        "exp_shifted = np.exp(A - _finite(np.max(A, axis=1))[:, None])",
        "softmax_A = exp_shifted / _nonzero(exp_shifted.sum(axis=1))[:, None]",
    )


def test_what_a_mask_excludes_may_be_infinite() -> None:
    import numpy as np

    from tests.lower.support import execute

    case = Case()
    logs = case.g.map("log", "i", [(case.d, "i")])
    picked = case.g.product("i", [(case.mask(), "i"), (logs, "i")])
    summed = case.g.product("", [(case.mask(), "i"), (logs, "i"), (case.d, "i")])
    code = as_text(case.g, [picked, summed])
    values, total = execute(code, {"d": np.array([-1.0, 0.0, 1.0, np.e])}, SIZES)
    np.testing.assert_allclose(values, [0, 0, 0, 1])
    np.testing.assert_allclose(total, np.e)


def test_the_array_module_has_the_alias_that_the_caller_gives() -> None:
    case = Case()
    roots = [make(case) for make in ONE_LINE.values()]
    code = as_text(case.g, roots, slow_at=False)
    text = "\n".join([*code.lines, *code.returns])
    assert "np." not in text
    assert "cp.linalg.inv(" in text and "cp.where(" in text


def test_results_that_need_not_be_fresh_may_be_views() -> None:
    case = Case()
    turned = case.g.permute(case.A, (1, 0))
    assert as_text(case.g, [turned], fresh=False).returns == ("A.T",)
    both = as_text(case.g, [case.x, case.x], fresh=[False, True])
    assert both.returns == ("x", "x.copy()")


def test_python_numbers_stay_weak() -> None:
    case = Case()
    size = case.g.size(Dim.of("n"))
    log = case.g.map("log", "", [(size, "")])
    scaled = case.g.product("i", [(log, ""), (case.x, "i")])
    assert lines(case.g, [scaled]) == ["return math.log(n) * x"]
    check(case.g, [scaled], SIZES, dtype="float32")


def test_what_python_would_refuse_is_left_to_numpy() -> None:
    case = Case()
    size = case.g.size(Dim.of("n") - 1)
    log = case.g.map("log", "", [(size, "")])
    scaled = case.g.product("i", [(log, ""), (case.x, "i")])
    assert lines(case.g, [scaled]) == ["return float(np.log(n - 1)) * x"]


def test_the_same_graph_gives_the_same_text() -> None:
    texts = []
    for _ in range(2):
        case = Case()
        texts.append(as_text(case.g, [make(case) for make in ONE_LINE.values()]))
    assert texts[0] == texts[1]


def test_a_deep_network_lowers_in_linear_work() -> None:
    def work(layers: int) -> int:
        g = Graph()
        h = g.input("x", ["n"])
        for k in range(layers):
            weights = g.input(f"W{k}", ["n", "n"])
            h = g.map("tanh", "i", [(g.einsum("ij,j->i", weights, h), "i")])
            g.name(h, f"h{k}")
        root = g.product("", [(h, "i")])
        found: list[str] = []
        count = calls(lambda: found.extend(as_text(g, [root]).lines))
        assert len(found) == layers
        return count

    few, many = work(50), work(200)
    assert many < 4.2 * few


def test_what_is_nested_deeply_is_lowered_in_pieces() -> None:
    g = Graph()
    h = g.input("A", ["n", "n"])
    for k in range(1000):
        h = g.map(("sin", "tanh")[k % 2], "ij", [(h, "ij")])
    code = as_text(g, [g.einsum("mkj,ij->mki", g.input("B", ["m", "k", "n"]), h)])
    assert max(map(len, code.lines)) < 90


def test_a_view_that_two_results_hold_is_one_object() -> None:
    graph = Graph()
    x = graph.input("x", ("m", "n"))
    turned = graph.product((1, 0), [(x, (0, 1))])
    first, second = as_text(graph, [turned, turned], fresh=False).returns
    assert first == second and first.isidentifier()


def test_what_several_nodes_come_to_is_computed_once() -> None:
    case = Case()
    g = case.g
    one = g.einsum("bij,bjk->bik", case.P, case.Q)
    other = g.einsum("bij,bjk->kib", case.P, case.Q)
    roots = [
        g.einsum("bik,bik,bi->bi", one, one, case.V),
        g.einsum("kib,kib,bi->bi", other, other, case.V),
        g.einsum("bik,kij->bij", one, g.input("R", ["k", "m", "n"])),
        g.einsum("kib,kij->bij", other, g.input("R", ["k", "m", "n"])),
    ]
    values = [line.partition(" = ")[2] for line in lines(g, roots)[:-1]]
    assert values.count("P @ Q") == 1, values
    check(g, roots, SIZES)
