"""Whole numbers that leave 64 bits, which NumPy wraps, are exact in a check."""

from __future__ import annotations

import numpy as np
import pytest

import tensorgen
from tensorgen.check.emitted_text import Program, Unread
from tensorgen.check.meaning import Meaning
from tensorgen.check.reals import Reals
from tensorgen.check.residues import PRIME, Residues
from tensorgen.check.walks import Field
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import delta

FAR = 2**62


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("i * i", FAR**2),
        ("i + i", 2 * FAR),
        ("-i - i - i", -3 * FAR),
        ("8 * i", 8 * FAR),
        ("n * n", FAR**2),
    ],
)
def test_products_and_sums_of_integers_do_not_wrap(text: str, exact: int) -> None:
    field = Residues()
    found = Program(field).expression(text, {"i": np.array([FAR]), "n": FAR})
    assert field.of(found).ravel().tolist() == [exact % PRIME]


def test_quotients_of_integers_that_wrap_are_refused() -> None:
    with pytest.raises(Unread):
        Program(Residues()).expression("4 * i // 4", {"i": np.array([FAR])})


def test_comparisons_of_integers_do_not_wrap() -> None:
    values = {"i": np.array([FAR]), "j": np.array([-FAR])}
    assert Program(Residues()).expression("i > 2 * j", values).tolist() == [True]
    assert Program(Residues()).expression("i > j", values).tolist() == [True]


@pytest.mark.parametrize("field", [Residues(), Reals()])
def test_places_that_are_padded_are_places(field: Field) -> None:
    values = {"c": np.array([2, 1]), "x": field.of(np.arange(3))}
    found = Program(field).expression("x.take(np.pad(c, (1, 2)), axis=0)", values)
    assert found.tolist() == [0, 2, 1, 0, 0] and found.dtype == field.dtype


def test_numbers_that_are_padded_do_not_wrap() -> None:
    field = Residues()
    given = {"x": field.of(np.array([-1]))}
    found = Program(field).expression("x[0] * np.pad(x, (1, 0))", given)
    assert found.tolist() == [0, 1]


def test_a_number_of_the_field_is_less_than_the_prime() -> None:
    field = Residues()
    assert field.of(2**70) == 2**70 % PRIME
    assert field.of(-1) == PRIME - 1


def test_affine_forms_do_not_wrap() -> None:
    graph, field, n = Graph(), Residues(), Dim.symbol("n")
    node = graph.product(
        "ij",
        [],
        constraints=[delta({"i": FAR, "j": 3}, Dim.of(0))],
        sizes={"i": n, "j": n},
    )

    def none(_: object) -> object:
        raise AssertionError

    found = Meaning(Program(field), {"n": 5}, none).of(node)
    assert [at.tolist() for at in np.nonzero(found)] == [[0], [0]]


def test_index_arrays_without_entries_are_checked() -> None:
    text = (
        "tensorgen: 1\ninputs: {u: {shape: [0], index: n}, z: []}\n"
        "functions: {f: {expr: u - 3, wrt: z, emit: [value, jacobian]}}"
    )
    assert "def f_jac" in tensorgen.generate(text)
