"""The papers' figures: functions are computed rightly, and tables say who is who."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import numpy as np
import papers
import pytest
import suite
import tables
from cases import Case, difference
from sets import papers as figures
from tables import Row

# Six layers are those of "Hessian by all weights": JAX takes long to compile them.
SMALLEST = [
    case
    for chosen in figures.SETS
    for case in suite.smallest(chosen)
    if not case.problem.startswith("Hessian by 6")
]


@pytest.fixture
def float64() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("case", SMALLEST, ids=lambda case: case.problem)
def test_functions_of_the_figures_are_those_of_jax(case: Case) -> None:
    data = case.data(np.random.default_rng(1))
    found = {
        one.name: one.result(one.make(data)())
        for one in case.contenders
        if one.name.startswith(("tensorgen", "JAX"))
    }
    assert len(found) > 1
    wanted = found.pop("JAX", found["tensorgen"])
    assert any(np.any(array) for array in wanted)
    for name, arrays in found.items():
        assert (name, difference(arrays, wanted, case.agreement)) == (name, "")


def test_the_order_of_inputs_in_a_loss_is_that_of_what_it_is_differentiated_by() -> (
    None
):
    data = figures.deep_data(3, 4, 2, np.random.default_rng(0))
    by_weights = figures.deep_loss(3, figures.weights(3))
    by_all = figures.deep_loss(3, ["X", *figures.weights(3)])

    class Xp:
        """A library for losses, of which each function says that it was called."""

        relu = staticmethod(lambda t: np.maximum(t, 0))
        softmax = staticmethod(lambda z, axis: np.exp(z) / np.exp(z).sum(axis)[:, None])
        sum = staticmethod(np.sum)

    P1, P2, P3, X, C = (data[x] for x in ("P1", "P2", "P3", "X", "C"))
    T = np.maximum(np.maximum(X @ P1, 0) @ P2, 0) @ P3
    value = np.sum(C * Xp.softmax(T, 1))
    assert by_weights(Xp, P1, P2, P3, X, C) == pytest.approx(value)
    assert by_all(Xp, X, P1, P2, P3, C) == pytest.approx(value)


def test_layers_of_the_networks_are_not_zero() -> None:
    for chosen in figures.SETS[1:]:
        for case in chosen.cases():
            data = case.data(np.random.default_rng(0))
            layer = data["X"]
            for name in [x for x in data if x.startswith("P")][:-1]:
                layer = np.maximum(layer @ data[name], 0)
                assert np.mean(layer > 0) > 0.3


def test_blocks_are_counted_in_each_order_and_in_any() -> None:
    assert figures.counted(6, 2) == "21 of 36"
    assert figures.counted(5, 3) == "35 of 125"


def test_a_table_has_a_line_for_each_size_and_contenders_side_by_side() -> None:
    (chosen,) = (x for x in figures.SETS if x.name == "crossings")
    size = "Hessian by all weights", "depth"
    rows = [
        Row(*size, 2, 1, papers.OURS, 0.001, 0.001, note="3 of 4", work=1.5),
        Row(*size, 2, 1, papers.ORDERED, 0.003, 0.002),
        Row(*size, 2, 1, "JAX", 0.0125, 0.0005, work=0.25),
        Row(*size, 3, 1, papers.OURS, 0.002, 0.002, note="6 of 9"),
        Row(*size, 3, 1, "JAX", note="too large: took 4 s at depth = 2"),
    ]
    head, two, three = papers.table(chosen, rows)[-3:]
    columns = ["generate s", "ours", "ordered", "JAX start s", "JAX"]
    assert [x for x in columns if x not in head] == []
    assert two.split("depth=2")[1].split() == [
        *("1.50", "1.000", "3.000", "-", "0.25", "12.50", "-", "2.00", "-", "0.50"),
        *("3", "of", "4"),
    ]
    cells = three.split("depth=3")[1].split()
    assert cells[:7] == ["-", "2.000", "-", "-", "-", "too", "large"]
    assert head.index("ordered") + len("ordered") == two.index("3.000") + len("3.000")


def test_every_set_has_a_layout_and_its_contenders_are_in_it() -> None:
    assert {x.name for x in figures.SETS} == {*papers.LAYOUTS}
    for chosen in figures.SETS:
        names = {one.name for case in chosen.cases() for one in case.contenders}
        row = {x: Row("", "n", 1, 1, x, seconds=1.0) for x in names}
        shown = [of(row) for _, of in papers.LAYOUTS[chosen.name].columns]
        assert shown.count(tables.figure(1e3, 4)) == len(names)
