"""Pictures of what is computed of what: by Graphviz, and a plain one for pages."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from tensorgen.explanation.dag import Dag, Vertex
from tensorgen.explanation.dot import COLOURS
from tensorgen.explanation.files import MARK

MOST_VERTICES = 90
"""The most values of a picture on a page."""
_HIGH, _GAP, _BETWEEN, _LETTER = 42, 26, 74, 7.4


class NoGraphvizError(Exception):
    """What draws is not installed."""


def drawn(text: str) -> str:
    """Return the picture of a graph in DOT as SVG; raises `NoGraphvizError`."""
    try:
        import graphviz
    except ImportError:
        message = "--svg needs the package graphviz: pip install 'tensorgen[explain]'"
        raise NoGraphvizError(message) from None
    try:
        svg: str = graphviz.Source(text).pipe(format="svg", encoding="utf-8")
    except graphviz.ExecutableNotFound:
        message = "--svg needs the program dot: install Graphviz (https://graphviz.org)"
        raise NoGraphvizError(message) from None
    start = svg.index("<svg")
    return f"{svg[:start].split('?>')[0]}?>\n{MARK}\n{svg[start:]}"


def picture(dag: Dag, parts: Mapping[str, str]) -> str:
    """Return a graph as an SVG element, operands above what is made of them.

    Vertices that are named in `parts` have these classes.
    """
    rows = _rows(dag)
    places, width = _places(dag, rows)
    high = len(rows) * (_HIGH + _BETWEEN) - _BETWEEN + 8
    found = [
        f'<svg viewBox="0 0 {width:.0f} {high}" width="{width:.0f}" height="{high}"'
        ' role="img" aria-label="what is computed of what">'
    ]
    for edge in dag.edges:
        (x, y), (u, v) = places[edge.source], places[edge.target]
        low, top = y + _HIGH, v
        path = f"M{x:.0f},{low}C{x:.0f},{low + 30} {u:.0f},{top - 30} {u:.0f},{top}"
        found.append(f'<path d="{path}"/>')
        if edge.label:
            at = f'x="{(x + u) / 2:.0f}" y="{(low + top) / 2 + 4:.0f}"'
            found.append(f'<text class="at" {at}>{escape(edge.label)}</text>')
    found += [_vertex(x, *places[x.key], parts) for x in dag.vertices]
    return "\n".join([*found, "</svg>"])


def _rows(dag: Dag) -> list[list[Vertex]]:
    """The vertices by how far they are from the arguments."""
    level = dict.fromkeys((x.key for x in dag.vertices), 0)
    for edge in dag.edges:  # by their targets, operands first
        level[edge.target] = max(level[edge.target], level[edge.source] + 1)
    rows: list[list[Vertex]] = [[] for _ in range(max(level.values(), default=0) + 1)]
    for vertex in dag.vertices:
        rows[level[vertex.key]].append(vertex)
    return rows


def _wide(vertex: Vertex) -> float:
    return max(map(len, _texts(vertex))) * _LETTER + 18


def _texts(vertex: Vertex) -> tuple[str, str]:
    first = " = ".join([*vertex.names[:1], vertex.label][:2])
    return first, vertex.dims


def _places(
    dag: Dag, rows: list[list[Vertex]]
) -> tuple[dict[int, tuple[float, int]], float]:
    """The middle and the top of each vertex, below the middle of its operands."""
    width = max(sum(_wide(x) + _GAP for x in row) for row in rows) + _GAP
    operands: dict[int, list[int]] = {}
    for edge in dag.edges:
        operands.setdefault(edge.target, []).append(edge.source)
    places: dict[int, tuple[float, int]] = {}

    def wanted(vertex: Vertex) -> float:
        own = [places[x][0] for x in operands.get(vertex.key, ())]
        return sum(own) / len(own) if own else 0.0

    for number, row in enumerate(rows):
        at = (width - sum(_wide(x) + _GAP for x in row)) / 2 + _GAP / 2
        for vertex in sorted(row, key=wanted):
            half = _wide(vertex) / 2
            places[vertex.key] = at + half, 4 + number * (_HIGH + _BETWEEN)
            at += 2 * half + _GAP
    return places, width


def _vertex(vertex: Vertex, x: float, y: int, parts: Mapping[str, str]) -> str:
    names = (*vertex.names, *([vertex.label] if vertex.kind == "input" else []))
    classes = " ".join(parts[name] for name in names if name in parts)
    wide = _wide(vertex)
    first, dims = map(escape, _texts(vertex))
    colour = COLOURS[min(vertex.order, len(COLOURS) - 1)]
    round_ = 3 if vertex.kind == "input" else 20
    thick = 2.5 if vertex.is_root else 1
    below = f'<text x="{x:.0f}" y="{y + 34}">{dims}</text>' if dims else ""
    return (
        f'<g class="{classes}"><rect x="{x - wide / 2:.0f}" y="{y}" width="{wide:.0f}"'
        f' height="{_HIGH}" rx="{round_}" fill="{colour}" stroke-width="{thick}"/>'
        f'<text x="{x:.0f}" y="{y + (18 if dims else 26)}">{first}</text>{below}</g>'
    )
