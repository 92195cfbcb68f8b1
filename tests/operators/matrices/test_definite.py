"""Which matrices are shown to be positive definite, and that they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, delta, indicator
from tensorgen.operators.matrices.definite import (
    Sign,
    is_positive_definite,
    matrix_sign,
    sign,
)
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.verify.interpret import evaluate

M, N = Dim.of("m"), Dim.of("n")
YES, NO, SEMI = Sign.POSITIVE, Sign.UNKNOWN, Sign.NONNEGATIVE


class Case:
    """Matrices of which some are definite."""

    def __init__(self) -> None:
        g = self.g = Graph()
        self.K = g.input("K", (N, N), ["spd"])
        self.R = g.input("R", (M, M), ["spd"])
        self.S = g.input("S", (N, N), ["symmetric"])
        self.A = g.input("A", (M, N))
        self.s = g.input("s", ())
        self.lam = g.input("lam", (), ["positive"])
        self.x = g.input("x", (N,))
        self.w = g.input("w", (M,), ["nonnegative"])
        self.d = g.map("exp", "i", [(self.x, "i")])
        self.square = g.map("pow", "", [(self.s, ""), (g.constant(2), "")])

    def diagonal(self, *factors: tuple[Node, str]) -> Node:
        same = [delta({"i": 1, "j": -1})]
        return self.g.product("ij", factors, constraints=same, sizes={"i": N, "j": N})

    def total(self, *terms: Node) -> Node:
        return self.g.sum("ij", [(1, term, "ij") for term in terms])

    def shifted(self, sign: int) -> Node:
        return self.g.sum("i", [(1, self.d, "i"), (sign, self.lam, "")])

    def nodes(self) -> dict[str, tuple[Node, Sign]]:
        g, K, A = self.g, self.K, self.A
        gram = g.einsum("ki,kj->ij", A, A)
        weighted = g.einsum("ki,k,kj->ij", A, self.w, A)
        apart = g.einsum("ik,kj->ij", g.einsum("ik,kl->il", A, K), g.permute(A, (1, 0)))
        unit = self.diagonal()
        positive = g.map("exp", "ij", [(self.S, "ij")])
        return {
            "what is promised": (K, YES),
            "what is symmetric": (self.S, NO),
            "an inverse": (g.call("inv", [K], (N, N)), YES),
            "a multiple": (g.scale(K, 2), YES),
            "the negative": (g.scale(K, -1), NO),
            "a positive multiple": (g.einsum(",ij->ij", self.lam, K), YES),
            "any multiple": (g.einsum(",ij->ij", self.s, K), NO),
            "the transpose": (g.permute(K, (1, 0)), YES),
            "the unit": (unit, YES),
            "a positive diagonal": (self.diagonal((self.d, "i")), YES),
            "a diagonal of squares": (self.diagonal((self.square, "")), SEMI),
            "any diagonal": (self.diagonal((self.x, "i")), NO),
            "a diagonal of sums": (self.diagonal((self.shifted(1), "i")), YES),
            "a diagonal of differences": (self.diagonal((self.shifted(-1), "i")), NO),
            "a part of a diagonal": (
                g.product(
                    "ij",
                    [(self.d, "i")],
                    constraints=[
                        delta({"i": 1, "j": -1}),
                        indicator({"i": 1}, -1),
                    ],
                    sizes={"j": N},
                ),
                NO,
            ),
            "a Gram matrix": (gram, SEMI),
            "a weighted Gram matrix": (weighted, SEMI),
            "a Gram matrix with any weights": (
                g.einsum("ki,k,kj->ij", A, g.einsum("ki,i->k", A, self.x), A),
                NO,
            ),
            "a Gram matrix of Gram matrices": (
                g.einsum("ki,kl,lj->ij", A, g.einsum("ki,li->kl", A, A), A),
                SEMI,
            ),
            "no Gram matrix": (
                g.einsum("ki,kl,lj->ij", A, g.einsum("ki,i,li->kl", A, self.x, A), A),
                NO,
            ),
            "a congruence": (g.einsum("ki,kl,lj->ij", A, self.R, A), SEMI),
            "a congruence in two steps": (apart, SEMI),
            "one product on both sides": (
                g.einsum("ai,ac,bc,bj->ij", A, A, A, A),
                SEMI,
            ),
            "one product on both sides, weights between": (
                g.einsum("ai,ac,c,bc,bj->ij", A, A, self.d, A, A),
                SEMI,
            ),
            "one product on both sides, entries weighted": (
                g.einsum("ai,ac,bc,bj,ij->ij", A, A, A, A, positive),
                NO,
            ),
            "ridge": (self.total(gram, self.diagonal((self.lam, ""))), YES),
            "any shift": (self.total(gram, self.diagonal((self.s, ""))), NO),
            "noise": (self.total(K, self.diagonal((self.square, ""))), YES),
            "a sum with a difference": (
                g.sum("ij", [(1, K, "ij"), (-1, gram, "ij")]),
                NO,
            ),
            "a sum of rows": (g.sum("ij", [(1, K, "ij"), (1, self.x, "j")]), NO),
            "one triangle": (
                g.product(
                    "ij", [(K, "ij")], constraints=[indicator({"i": 1, "j": -1})]
                ),
                NO,
            ),
            "entries squared": (
                g.map("pow", "ij", [(K, "ij"), (g.constant(2), "")]),
                NO,
            ),
            "a number": (self.lam, NO),
        }


@pytest.mark.parametrize("name", Case().nodes())
def test_what_is_shown_holds(name: str) -> None:
    case = Case()
    node, expected = case.nodes()[name]
    if node.order:
        assert matrix_sign(node) == expected
    assert is_positive_definite(node) == (expected == YES)
    if expected == NO:
        return
    rng = np.random.default_rng(1)
    shapes = {"A": (5, 3), "x": (3,), "s": (), "lam": (), "w": (5,)}
    given: dict[str, Any] = {k: rng.normal(size=shape) for k, shape in shapes.items()}
    given |= {k: np.abs(given[k]) for k in ("lam", "w")}
    for key, size in (("K", 3), ("R", 5), ("S", 3)):
        root = rng.normal(size=(size, size))
        given[key] = root @ root.T
    (value,) = evaluate([node], given, FUNCTIONS, OPERATORS, {"m": 5, "n": 3})
    np.testing.assert_allclose(value, value.T, atol=1e-12)
    least = np.linalg.eigvalsh(value).min()
    assert least > 1e-9 if expected == YES else least > -1e-9


def test_sums_are_looked_into_so_far_and_no_further() -> None:
    case = Case()
    g = case.g
    matrix, entries = case.K, case.d
    inverse = g.call("inv", [case.K], (N, N))
    for _ in range(3000):
        matrix = g.sum("ij", [(2, matrix, "ij"), (1, inverse, "ij")])
        entries = g.sum("i", [(2, entries, "i"), (1, case.lam, "")])
    assert matrix_sign(matrix) == sign(entries) == NO
