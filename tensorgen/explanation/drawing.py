"""Pictures of what is computed of what: by Graphviz, and a plain one for pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise

from tensorgen.explanation.dag import COLOURS, Dag, Vertex
from tensorgen.explanation.layers import Edge, layered
from tensorgen.explanation.written_files import MARK

MOST_VERTICES = 90
"""The most values of a picture on a page."""
_HIGH, _GAP, _BETWEEN, _LETTER = 42, 22, 46, 7.9


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
    labels: dict[Edge, list[str]] = {}
    for edge in dag.edges:
        labels.setdefault((edge.source, edge.target), []).append(edge.label)
    wide = {x.key: _wide(x) for x in dag.vertices}
    layout = layered(wide, [*labels], _GAP)
    high = layout.count * (_HIGH + _BETWEEN) - _BETWEEN + 8
    found = [
        f'<svg viewBox="0 0 {layout.width:.0f} {high}" width="{layout.width:.0f}"'
        f' height="{high}" role="img" aria-label="graph of computations">'
    ]
    lines: dict[str, None] = {}
    told = []
    for pair, own in labels.items():
        line = [(layout.middles[x], _top(x[1])) for x in layout.line(pair)]
        lines |= dict.fromkeys(_pieces(line))
        text = "; ".join(dict.fromkeys(x for x in own if x))
        if text:
            (x, y), (u, v) = line[-2:]
            at = f'x="{(x + u) / 2:.0f}" y="{(y + _HIGH + v) / 2 + 4:.0f}"'
            told.append(f'<text class="at" {at}>{escape(text)}</text>')
    found += [f'<path d="{path}"/>' for path in lines]
    found += told
    for vertex in dag.vertices:
        place = layout.of(vertex.key)
        found.append(_vertex(vertex, layout.middles[place], _top(place[1]), parts))
    return "\n".join([*found, "</svg>"])


def _top(row: int) -> int:
    return 4 + row * (_HIGH + _BETWEEN)


def _pieces(line: Sequence[tuple[float, int]]) -> Iterator[str]:
    """The curves of a line between rows, and how it goes straight through a row."""
    bend = _BETWEEN // 2
    for k, ((x, y), (u, v)) in enumerate(pairwise(line)):
        start = y if k else y + _HIGH
        straight = f"V{y + _HIGH}" if k else ""
        curve = f"C{x:.0f},{y + _HIGH + bend} {u:.0f},{v - bend} {u:.0f},{v}"
        yield f"M{x:.0f},{start}{straight}{curve}"


def _wide(vertex: Vertex) -> float:
    return max(map(len, _texts(vertex))) * _LETTER + 18


def _texts(vertex: Vertex) -> tuple[str, str]:
    first = " = ".join([*vertex.names[:1], vertex.label][:2])
    return first, vertex.dims


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
