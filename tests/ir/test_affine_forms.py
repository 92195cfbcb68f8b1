"""Affine forms, whatever their atoms are, against their values."""

from __future__ import annotations

from itertools import product

from tensorgen.ir.affine_forms import AffineForm
from tensorgen.ir.dims import Dim

FORMS = [
    AffineForm.of(zip("ab", coefficients, strict=True), const)
    for *coefficients, const in product((-2, -1, 0, 1), repeat=3)
]
POINTS = [dict(zip("ab", values, strict=True)) for values in ((0, 0), (1, 5), (-3, 2))]


def at(form: AffineForm[str], point: dict[str, int]) -> int:
    assert all(c for _, c in form.terms)
    assert len(dict(form.terms)) == len(form.terms)
    return form.const.value({}) + sum(c * point[x] for x, c in form.terms)


def test_sums_multiples_and_differences_have_the_values_of_such() -> None:
    for one, other in product(FORMS, repeat=2):
        for point in POINTS:
            a, b = at(one, point), at(other, point)
            assert at(one + other, point) == a + b
            assert at(one - other, point) == a - b
            assert at(-one + 3, point) == 3 - a
            assert [at(one.scaled(k), point) for k in (-2, 0, 3)] == [-2 * a, 0, 3 * a]


def test_an_atom_is_replaced_by_its_form() -> None:
    for one, other in product(FORMS, repeat=2):
        for point in POINTS:
            moved = {**point, "a": at(other, point)}
            assert at(one.substituted("a", other), point) == at(one, moved)
            assert at(one.without("a"), point) == at(one, {**point, "a": 0})


def test_forms_of_the_least_kind() -> None:
    assert AffineForm.atom("a") == AffineForm.of([("a", 1)])
    assert AffineForm.constant(2) == AffineForm((), Dim.of(2))
    assert AffineForm.of([("a", 1), ("b", 2), ("a", -1)], 1).coefficient("a") == 0
