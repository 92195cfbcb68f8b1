"""What values are called that are known when they are made: derivatives, and ideas.

A derivative is called after what it is of, and a recognised idea by the field's word.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Input,
    Node,
    Product,
    Sum,
    children,
    constant_value,
    topological,
)
from tensorgen.operators.whole_words import word_of
from tensorgen.operators.word_shapes import (
    fits,
)
from tensorgen.operators.words import DEEPEST

ADJOINT, TANGENT, JACOBIAN = "d_{}", "{}_dot", "jac_{}"
"""What derivatives are called after what they are of."""


def call_derivative(graph: Graph, form: str, node: Node, derivative: Node) -> None:
    """Say what to call a derivative: after what it is of, if that has a word.

    `form` has a place for the word: `ADJOINT`, or `TANGENT`. What is of a value that
    the user named bears the name always, others where nothing says what they are.
    """

    def name_of(one: Node) -> str | None:
        name = one.name if isinstance(one, Input) else graph.names.get(one)
        return name or graph.suggestions.get(one) or graph.derived.get(one)

    if derivative in graph.stated:
        return
    if node in graph.names:
        graph.suggest(derivative, form.format(graph.names[node]))
        return
    # What some entries of an array are called says nothing of their derivative.
    if isinstance(node, Product) and node.constraints:
        return
    word = word_of(node, name_of, DEEPEST)
    if word and fits(form.format(word)):
        graph.derived.setdefault(derivative, form.format(word))


def call_ideas(graph: Graph, root: Node, data: Container[Node]) -> None:
    """Say what to call values below a root that are a recognised idea.

    A residual is what is computed less what is given as `data`, or the reverse.
    """
    for node in topological([root]):
        graph.stated[node] = None
        if isinstance(node, Sum) and node.order:
            signs = {
                term.coefficient > 0
                for term in node.terms
                if term.node in data and term.node.order == node.order
            }
            others = {
                term.coefficient > 0 for term in node.terms if children(term.node)
            }
            if len(signs) == 1 and others - signs:
                graph.suggest(node, "residual")


def call_column(
    graph: Graph, jacobian: Node, column: Node, place: Sequence[int]
) -> None:
    """Say what to call a column of a Jacobian: a tangent, with the column's number.

    Without numbers it is part of what the Jacobian is called.
    """
    head, _, tail = JACOBIAN.partition("{}")
    for told in (graph.suggestions, graph.derived):
        word = told.get(jacobian, "")
        if word.startswith(head) and constant_value(column) is None:
            of = TANGENT.format(word.removeprefix(head).removesuffix(tail))
            word = "_".join([of, *map(str, place)]) if place else word
            if fits(word):
                told.setdefault(column, word)
