"""What is computed of what: values, and the entries at which they read others.

All of it as Graphviz DOT has a cluster for each function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tensorgen.emit.text import escape
from tensorgen.explanation.subjects import Explained, Subject
from tensorgen.ir.dims import tuple_text
from tensorgen.ir.formula_text import number
from tensorgen.ir.index_text import Index, combine, constraint_text, letters
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Input,
    Iota,
    Label,
    Map,
    Node,
    Product,
    Size,
    Sum,
    children,
    topological,
)

KINDS = ("input", "number", "product", "sum", "map", "call")


@dataclass(frozen=True)
class Vertex:
    """A value: `kind` is one of `KINDS`, `label` what is done, `names` who it is."""

    key: int
    kind: str
    label: str
    order: int
    dims: str
    names: tuple[str, ...]
    is_root: bool


@dataclass(frozen=True)
class Edge:
    """The use of a value in another one, at indices of this one."""

    source: int
    target: int
    label: str


@dataclass(frozen=True)
class Dag:
    """The values of a function, operands first, and their uses."""

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]


def dag_of(subject: Subject) -> Dag:
    """Return what a function computes, in the plan that is emitted."""
    plan = subject.planned.plan
    roots: dict[Node, list[str]] = {}
    for part, name in zip(plan.parts, subject.planned.root_names, strict=True):
        for node in part:
            roots.setdefault(node, []).append(name)
    order = topological(plan.roots)
    keys = {node: key for key, node in enumerate(order)}
    vertices = tuple(_vertex(keys[x], x, subject.names, roots) for x in order)
    edges = tuple(
        Edge(keys[source], keys[node], label)
        for node in order
        for source, label in _uses(node)
    )
    return Dag(vertices, edges)


def _vertex(
    key: int, node: Node, names: Mapping[Node, str], roots: Mapping[Node, list[str]]
) -> Vertex:
    kind, label = _told(node)
    named = [names[node]] if node in names and not isinstance(node, Input) else []
    called = (*dict.fromkeys([*roots.get(node, ()), *named]),)
    dims = tuple_text(node.dims) if node.dims else ""
    return Vertex(key, kind, label, node.order, dims, called, node in roots)


def _told(node: Node) -> tuple[str, str]:
    match node:
        case Input(name=name):
            return "input", name
        case Constant(name=name):
            return "number", name
        case Size(value=value):
            return "number", str(value)
        case Iota():
            return "number", f"0 ... {node.dims[0] - 1}"
        case Product():
            is_number = not (node.factors or node.constraints)
            return "number" if is_number else "product", _product(node)
        case Sum():
            return "sum", "+"
        case Map(function=function):
            return "map", function
        case Call(operator=operator):
            return "call", operator


def _at(node: Node) -> dict[Label, Index]:
    """The letters of the labels of a node, those that are summed too."""
    sizes = node.sizes if isinstance(node, Product) else node.dims
    taken = [s for dim in sizes for s in dim.symbols]
    return dict(zip(range(len(sizes)), map(Index.atom, letters(taken)), strict=False))


def _product(node: Product) -> str:
    """The sign of summation, the number and the deltas of a product."""
    at = _at(node)
    summed = [str(at[x]) for x in range(node.order, len(node.sizes))]
    parts = [f"sum_{','.join(summed)}"] if summed else []
    if node.coefficient != 1 or not (node.factors or node.constraints):
        parts.append(number(node.coefficient))
    parts += [
        constraint_text(kind, combine(form, at)) for kind, form in node.constraints
    ]
    times = len(node.factors) > 1 or (node.factors and len(parts) > bool(summed))
    return " ".join([*parts, "*"] if times else parts) or "="


def _uses(node: Node) -> Iterator[tuple[Node, str]]:
    """The operands of a node, and the indices at which they are read."""
    at = _at(node)

    def told(labels: Sequence[Label]) -> str:
        return ", ".join(str(at[x]) for x in labels)

    match node:
        case Product(factors=refs) | Map(args=refs):
            for operand, labels in refs:
                yield operand, told(labels)
            for operand in children(node)[len(refs) :]:  # index arrays in deltas
                yield operand, ""
        case Sum(terms=terms):
            for coefficient, operand, labels in terms:
                sign = number(coefficient) if abs(coefficient) != 1 else ""
                sign = "-" if coefficient == -1 else sign
                yield operand, " ".join(x for x in (sign, told(labels)) if x)
        case Call(args=args):
            for operand in args:
                yield operand, ""
        case _:
            return


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
        '  graph [rankdir="BT", labelloc="b", fontname="Helvetica"];',
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
        # Spaces keep the line and its label apart.
        label = f" [label={quoted(f'  {edge.label}  ')}]" if edge.label else ""
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
