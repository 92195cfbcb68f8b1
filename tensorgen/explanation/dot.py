"""What is computed of what, as Graphviz DOT: a cluster a function."""

from __future__ import annotations

from collections.abc import Iterator

from tensorgen.emit.text import escape
from tensorgen.explanation.dag import Dag, Vertex, dag_of
from tensorgen.explanation.subjects import Explained

COLOURS = ("#d9d9d9", "#8dd3c7", "#fdb462", "#bebada", "#fb8072")
"""Of numbers, vectors, matrices, tensors of third order, and all above."""
_SHAPES = {
    "input": "box",
    "number": "plaintext",
    "product": "ellipse",
    "sum": "circle",
    "map": "ellipse",
    "call": "hexagon",
}


def dot(told: Explained) -> str:
    """Return one graph of all functions that were asked for."""
    rows = [
        f"digraph {quoted(told.spec.module)} {{",
        '  graph [rankdir="BT", fontname="Helvetica"];',
        '  node [fontname="Helvetica", style="filled"];',
        '  edge [fontname="Helvetica", fontsize="10"];',
    ]
    for place, subject in enumerate(told.subjects):
        rows += [
            f"  subgraph {quoted(f'cluster_{place}')} {{",
            f"    label={quoted(subject.name)};",
            *_rows(dag_of(subject), place),
            "  }",
        ]
    return "\n".join([*rows, "}"]) + "\n"


def _rows(dag: Dag, place: int) -> Iterator[str]:
    for vertex in dag.vertices:
        attributes = {
            "label": vertex_text(vertex),
            "shape": _SHAPES[vertex.kind],
            "fillcolor": COLOURS[min(vertex.order, len(COLOURS) - 1)],
            "penwidth": "2.5" if vertex.is_root else "1",
        }
        told = ", ".join(f"{x}={quoted(text)}" for x, text in attributes.items())
        yield f"    {quoted(f'{place}.{vertex.key}')} [{told}];"
    for edge in dag.edges:
        ends = [quoted(f"{place}.{key}") for key in (edge.source, edge.target)]
        label = f" [label={quoted(edge.label)}]" if edge.label else ""
        yield f"    {' -> '.join(ends)}{label};"


def vertex_text(vertex: Vertex) -> str:
    """What a value is called, what is done, and its shape."""
    names = " = ".join(vertex.names)
    rows = [names, vertex.label, vertex.dims]
    return "\n".join(row for row in rows if row)


def quoted(text: str) -> str:
    """Return any text as a string of DOT."""
    plain = escape(text).replace("\\\\", "\\")
    inside = plain.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{inside}"'
