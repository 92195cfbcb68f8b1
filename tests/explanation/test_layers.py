"""Pictures: operands stand above, nothing overlaps, no line passes a value."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from tensorgen.explanation.dag import dag_of
from tensorgen.explanation.drawing import picture
from tensorgen.explanation.layers import THIN, Layout, layered
from tests.explanation.told import told

GAP = 20.0


def made(seed: int) -> tuple[dict[int, float], list[tuple[int, int]], Layout]:
    """A random graph, operands first, and how it is laid out."""
    rng = random.Random(seed)
    count = rng.randrange(1, 25)
    widths = {k: float(rng.randrange(30, 120)) for k in range(count)}
    edges = []
    for target in range(count):
        operands = rng.sample(range(target), min(target, rng.randrange(3)))
        edges += [(source, target) for source in sorted(operands)]
    return widths, edges, layered(widths, edges, GAP)


@pytest.mark.parametrize("seed", range(30))
def test_values_and_lines_have_room(seed: int) -> None:
    widths, edges, layout = made(seed)
    for source, target in edges:
        assert layout.rows[source] < layout.rows[target]
    wide = {place: THIN for edge in edges for place in layout.line(edge)}
    wide |= {layout.of(key): width for key, width in widths.items()}
    assert wide.keys() == layout.middles.keys()
    for row in range(layout.count):
        own = sorted((layout.middles[x], w) for x, w in wide.items() if x[1] == row)
        for (left, one), (right, other) in pairwise(own):
            assert right - left >= (one + other) / 2 + GAP - 1e-6
        for middle, width in own:
            assert width / 2 <= middle <= layout.width - width / 2


def test_a_value_stands_as_far_down_as_its_use() -> None:
    # 0 -> 1 -> 2 -> 4, and 3 is used by 4 alone.
    edges = [(0, 1), (1, 2), (2, 4), (3, 4)]
    layout = layered(dict.fromkeys(range(5), 40.0), edges, GAP)
    assert layout.rows == {0: 0, 1: 1, 2: 2, 3: 2, 4: 3}
    assert layout.line((3, 4)) == [(3, 2), (4, 3)]


def test_a_long_line_is_straight() -> None:
    edges = [(0, 1), (1, 2), (2, 3), (0, 4), (3, 4)]
    layout = layered(dict.fromkeys(range(5), 40.0), edges, GAP)
    between = [layout.middles[x] for x in layout.line((0, 4))[1:-1]]
    assert len(between) == 3
    assert max(between) - min(between) < 20


def test_lines_with_one_way_are_drawn_once() -> None:
    of = told("logistic_regression")
    for own in of.subjects:
        text = picture(dag_of(own), {})
        paths = [x for x in text.splitlines() if x.startswith("<path")]
        assert len(paths) == len(set(paths)) > 1
