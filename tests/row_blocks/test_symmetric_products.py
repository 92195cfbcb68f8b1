"""A Hessian that is a symmetric product is one in its pieces as well."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tensorgen.errors import Source
from tensorgen.ir.nodes import Node, Product, topological
from tests.row_blocks.models import MODELS
from tests.row_blocks.pieces import Whole, cut_among
from tests.sampled import left


def symmetric(roots: Iterable[Node]) -> int:
    """How many matrices are products of an array with itself: Z.T @ Z."""
    products = (x for x in topological(roots) if isinstance(x, Product) and x.inner)
    factors = ([f for f, _ in x.factors] for x in products if x.order > 1)
    return sum(len(own) > len({*own}) for own in factors)


@pytest.mark.parametrize(
    "name", ["logistic", *map(left, ["standardised", "normal", "ratings"])]
)
def test_pieces_form_one_triangle_where_the_whole_does(name: str) -> None:
    whole = Whole(Source("a.yaml", MODELS[name].spec("value, gradient, hessian")))
    kinds = [row for row in whole.kinds if "hess" in row[1].name]
    found = cut_among(whole.in_pieces("m", kinds))
    assert len(found) == 2  # the Hessian alone, and with value and gradient
    for row in found:
        own = [symmetric(piece.plan.roots) for piece in row.pieces]
        assert sum(own) == symmetric(row.whole.plan.roots) == 1
