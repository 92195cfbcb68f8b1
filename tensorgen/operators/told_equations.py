"""Equations of results in index notation, by given names alone."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tensorgen.ir.dims import ONE
from tensorgen.ir.formula_text import bare_text
from tensorgen.ir.index_text import Index, subscript
from tensorgen.ir.nodes import Node
from tensorgen.operators.index_notation import FormulaPrinter
from tensorgen.operators.told_places import ELSEWHERE, OUTSIDE, tied_axes, told_apart


def inlined(
    name: str, node: Node, names: Mapping[Node, str] | None = None, most: int = 150
) -> str | None:
    """Return `name[i, j] = ...` with nothing but given names in it.

    What is zero wherever some axes differ is told of places where they do not. None
    where that takes more than so many operations, or other names.
    """
    printer = FormulaPrinter([node], names or {}, [name], apart=False)
    if printer.weights[node] > most:
        return None
    axes = printer.axes(node)
    at, fixed = tied_axes(axes, node)
    places = [at]
    if apart := told_apart(node, printer.names):
        fixed = len(apart) != prod((node.dims[k] for k in apart[0]), start=ONE)
        places = [
            [Index.constant(own[k]) if k in own else x for k, x in enumerate(axes)]
            for own in apart
        ]
    texts = [
        f"{subscript(name, at)} = {bare_text(printer.body(node, at))}" for at in places
    ]
    if printer.where:  # arguments of functions, without a name
        return None
    texts[-1] += ELSEWHERE * fixed + OUTSIDE * printer.reaches_out
    return "\n".join(texts)
