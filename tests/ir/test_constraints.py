"""The algebra of deltas and indicators, against counting on small systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product

import pytest

from tensorgen.ir.constraints import (
    Ranges,
    System,
    eliminated,
    is_light,
    normal,
    solvable,
    solved,
    within,
)
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.effort import Effort
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Affine, Constraint, Label, Lookup, affine, delta

LABELS = range(3)
COEFFICIENTS = (-2, -1, 0, 1)
CONSTS = (-1, 0, 1)
FORMS = [
    affine(zip(LABELS, coefficients, strict=True), const)
    for coefficients in product(COEFFICIENTS, repeat=len(LABELS))
    for const in CONSTS
]
CONSTRAINTS = [Constraint(kind, form) for kind in ("eq", "ge") for form in FORMS]
SHAPES = ((2, 2, 2), (1, 3, 2))
n = Dim.of("n")


def points(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every value of labels 0, 1, ... in their ranges."""
    return product(*map(range, sizes))


def at(form: Affine, point: Mapping[Label, int] | Sequence[int]) -> int:
    """The value of a form without lookups."""
    number = form.const.constant
    assert number is not None
    return number + sum(c * point[x] for x, c in form.terms if isinstance(x, int))


def holds(
    constraints: Iterable[Constraint], point: Mapping[Label, int] | Sequence[int]
) -> bool:
    """Whether all constraints hold at a point."""
    return all(
        at(c.form, point) == 0 if c.kind == "eq" else at(c.form, point) >= 0
        for c in constraints
    )


def dims(sizes: Sequence[int]) -> dict[Label, Dim]:
    """The sizes of labels 0, 1, ... as dims."""
    return {label: Dim.of(size) for label, size in enumerate(sizes)}


@pytest.mark.parametrize("shape", SHAPES)
def test_bounds_are_the_extreme_values(shape: tuple[int, ...]) -> None:
    ranges = Ranges.of(dims(shape))
    for form in FORMS:
        values = [at(form, point) for point in points(shape)]
        assert ranges.bounds(form) == (Dim.of(min(values)), Dim.of(max(values)))


def test_an_interval_that_does_not_start_at_zero_bounds_a_form() -> None:
    ranges = Ranges({0: (Dim.of(2), Dim.of(5)), 1: (Dim.of(-1), Dim.of(2))})
    found = ranges.bounds(affine([(0, 2), (1, -3)], 1))
    assert found == (Dim.of(2), Dim.of(12))
    assert ranges.contain(affine([(0, 1), (1, -1)]), (Dim.of(1), Dim.of(6)))
    assert not ranges.contain(affine([(0, 1), (1, -1)]), (Dim.of(2), Dim.of(6)))
    assert not ranges.contain(affine([(0, 1), (1, -1)]), (Dim.of(1), Dim.of(5)))


def test_facts_bound_what_sizes_alone_do_not() -> None:
    form, interval = affine([(0, 1)], 1), (ZERO, n)
    assert not Ranges.of({0: Dim.of("m")}).contain(form, interval)
    assert Ranges.of({0: Dim.of("m")}, [n - Dim.of("m") - 1]).contain(form, interval)


def test_an_entry_is_within_what_its_array_states() -> None:
    graph = Graph()
    index = graph.input("index", [n], index=Dim.of("m"))
    entry = affine([(Lookup(index, (0,)), -1)])
    assert Ranges.of({0: n}).bounds(entry) == (1 - Dim.of("m"), ZERO)
    bare = affine([(Lookup(graph.input("x", [n]), (0,)), 1)])
    assert Ranges.of({0: n}).bounds(bare) is None


def test_solving_says_the_same_of_a_label() -> None:
    for constraint in CONSTRAINTS:
        found = list(solvable(constraint))
        units = [x for x in LABELS if abs(constraint.form.coefficient(x)) == 1]
        assert found == (units if constraint.kind == "eq" else [])
        for label in found:
            value = solved(constraint.form, label)
            assert label not in value.labels
            for point in points((3, 3, 3)):
                assert holds([constraint], point) == (point[label] == at(value, point))


def test_the_normal_form_is_one_for_all_that_say_the_same_of_integers() -> None:
    truth: dict[frozenset[tuple[int, ...]], set[Constraint]] = {}
    for constraint in CONSTRAINTS:
        key = normal(constraint)
        box = list(product(range(-3, 4), repeat=3))
        assert [holds([constraint], p) for p in box] == [holds([key], p) for p in box]
        turned = Affine(constraint.form.terms[::-1], constraint.form.const)
        assert normal(Constraint(constraint.kind, turned)) == key == normal(key)
        if constraint.kind == "eq" and constraint.form.terms:
            where = frozenset(p for p in box if holds([constraint], p))
            truth.setdefault(where, set()).add(key)
    del truth[frozenset()]  # 2 * a == 1 holds nowhere, whatever a
    assert all(len(keys) == 1 for keys in truth.values())


def test_a_delta_by_a_size_is_in_lowest_terms_as_it_stands() -> None:
    by_size = Constraint("eq", affine([(0, 2), (1, -2)], Dim.of("n")))
    assert normal(by_size) == by_size
    odd = Constraint("eq", affine([(0, 2), (1, -2)], Dim.of(3)))
    assert normal(odd) == odd
    even = Constraint("eq", affine([(0, 2), (1, -2)], Dim.of(6)))
    assert normal(even) == Constraint("eq", affine([(0, 1), (1, -1)], Dim.of(3)))


def test_within_are_the_bounds_of_an_interval() -> None:
    for form in FORMS:
        pair = within(form, (Dim.of(-1), Dim.of(2)))
        for point in points((2, 3, 2)):
            assert holds(pair, point) == (-1 <= at(form, point) < 2)


def test_elimination_keeps_what_a_system_says() -> None:
    box = list(product(range(-1, 3), repeat=3))
    for system in combinations(CONSTRAINTS[::5], 2):
        found = eliminated(system, LABELS)
        assert len(found) == 2
        assert [holds(system, p) for p in box] == [holds(found, p) for p in box]
        for label in LABELS:
            if any(label in solvable(c) for c in system):
                alone = eliminated(system, [label])
                assert sum(label in c.form.labels for c in alone) == 1


def test_elimination_takes_atoms_in_the_order_given() -> None:
    chain = [
        Constraint("eq", affine([(0, 1), (1, -1)], 1)),
        Constraint("eq", affine([(1, 1), (2, -1)], 1)),
    ]
    first = eliminated(chain, (2, 1))
    assert [sorted(c.form.labels) for c in first] == [[0, 1], [0, 2]]
    last = eliminated(chain, (0, 1))
    assert [sorted(c.form.labels) for c in last] == [[0, 2], [1, 2]]


def test_an_entry_of_an_index_array_is_solved_for_like_a_label() -> None:
    entry = Lookup(Graph().input("index", [n], index=n), (2,))
    both = [Constraint("eq", affine([(x, 1), (entry, -1)])) for x in (0, 1)]
    _, second = eliminated(both, [entry])
    assert normal(second) == Constraint("eq", affine([(0, 1), (1, -1)]))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("out", "inside"), [((), ()), ((0,), (1, 2)), ((0, 1), (1,)), ((0, 1), (0, 1, 2))]
)
def test_a_simplified_system_has_as_many_solutions_for_each_axis_and_factor(
    shape: tuple[int, ...], out: tuple[Label, ...], inside: tuple[Label, ...]
) -> None:
    some = CONSTRAINTS[::9] + CONSTRAINTS[4::23]
    for chosen in combinations(some, 2):
        system = System(chosen, dims(shape), out, inside)
        before = _counted(chosen, dict(enumerate(shape)), out, inside)
        if not system.simplify(Effort()):
            assert not before
            continue
        sizes = {x: dim.constant or 0 for x, dim in system.sizes.items()}
        names = [system.names[x] for x in inside]
        assert _counted(system.constraints, sizes, out, names) == before
        again = System(system.constraints, dict(system.sizes), out, names)
        assert again.simplify(Effort())
        assert again.constraints == system.constraints


def _counted(
    constraints: Iterable[Constraint],
    sizes: Mapping[Label, int],
    out: Sequence[Label],
    inside: Sequence[Label],
) -> Counter[tuple[tuple[int, ...], tuple[int, ...]]]:
    """How often each entry of a result meets each entry of the factors."""
    found: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    constraints = list(constraints)
    for values in points(list(sizes.values())):
        point = dict(zip(sizes, values, strict=True))
        if holds(constraints, point):
            found[tuple(point[x] for x in out), tuple(point[x] for x in inside)] += 1
    return found


def test_labels_of_unequal_dims_are_not_unified() -> None:
    delta = Constraint("eq", affine([(0, 1), (1, -1)]))
    system = System([delta], {0: n, 1: n + 1}, (0,), (0, 1))
    assert system.simplify(Effort())
    assert system.constraints == [delta]
    assert system.names == {0: 0, 1: 1}


def test_a_product_is_light_where_deltas_fix_all_that_is_summed() -> None:
    graph = Graph()
    x = graph.input("x", [n + 1])
    shift = delta({"i": 1, "p": -1}, 1)
    sizes = {"i": n}
    assert is_light(graph.product("i", [(x, "p")], constraints=[shift], sizes=sizes))
    assert not is_light(graph.product("", [(x, "p")]))
    assert not is_light(x)


def test_an_indicator_outside_of_which_nothing_is_summed_goes() -> None:
    before, first = affine([(0, 1), (1, -1)], -1), affine([(0, 1)], -1)
    later = affine([(0, 1)], -2)
    given = [Constraint("ge", form) for form in (before, first, later)]
    system = System(given, {0: n, 1: n}, [0], [1])
    assert system.simplify(Effort())
    left = [c.form for c in system.simplified[0]]
    assert first not in left
    assert {before, later} == {*left}
