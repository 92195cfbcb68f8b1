"""What values are called that are known when they are made: derivatives, and ideas.

A derivative is called after what it is of, and a recognised idea by the field's word.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import permutations

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Input,
    Lookup,
    Map,
    Node,
    Product,
    Ref,
    Sum,
    children,
    constant_value,
    topological,
)
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.recurrences.recurrence import everything
from tensorgen.operators.whole_words import function_word, word_of
from tensorgen.operators.word_shapes import COMPLEMENT, JACOBIAN, TANGENT, fits
from tensorgen.operators.words import DEEPEST


def call_derivative(graph: Graph, form: str, node: Node, derivative: Node) -> None:
    """Say what to call a derivative: after what it is of, if that has a word.

    `form` has a place for the word: `ADJOINT`, or `TANGENT`. What is of a value that
    the user named bears the name always, others where nothing says what they are.
    """

    if derivative in graph.stated:
        return
    if node in graph.names:
        graph.suggest(derivative, form.format(graph.names[node]))
        return
    # What some entries of an array are called says nothing of their derivative.
    if isinstance(node, Product) and node.constraints:
        return
    word = known_word(graph, node)
    if word and fits(form.format(word)):
        graph.derived.setdefault(derivative, form.format(word))


def known_word(graph: Graph, node: Node) -> str | None:
    """What is known by now of what a node is called; None where nothing is."""

    def name_of(one: Node) -> str | None:
        name = one.name if isinstance(one, Input) else graph.names.get(one)
        name = name if name and name.isidentifier() else None
        return name or graph.suggestions.get(one) or graph.derived.get(one)

    return word_of(node, name_of, DEEPEST)


def call_ideas(graph: Graph, root: Node, data: Container[Node]) -> None:
    """Say what to call values below a root that are a recognised idea.

    A residual is what is computed of more than data less what is given as `data`, or
    the reverse.
    """
    nodes, moving = topological([root]), dict[Node, None]()
    residuals: list[tuple[Node, Node]] = []
    for node in nodes:
        graph.stated[node] = None
        own = isinstance(node, Input) and node not in data
        if own or any(x in moving for x in children(node)):
            moving[node] = None
        if isinstance(node, Sum) and node.order:
            given = [x for x in node.terms if x.node in data]
            whole = [x for x in given if x.node.order == node.order]
            signs = {x.coefficient > 0 for x in whole}
            others = [x for x in node.terms if x.node in moving and children(x.node)]
            computed = [x for x in others if not _is_looked_up(x.node)]
            if len(signs) == 1 and {x.coefficient > 0 for x in computed} - signs:
                residuals.append((node, whole[0].node))
    several = len({of for _, of in residuals}) > 1
    for node, of in residuals:
        name = of.name if several and isinstance(of, Input) else ""
        graph.suggest(node, f"residual_{name}" if name else "residual")
    _call_arguments(graph, everything(nodes))
    _call_roles(graph, nodes)


def _is_looked_up(node: Node) -> bool:
    """Whether a node shows the entries of an input that an index array says."""
    match node:
        case Product(factors=(Ref(node=Input()),), coefficient=times):
            atoms = [atom for c in node.constraints for atom, _ in c.form.terms]
            return times == 1 and any(isinstance(x, Lookup) for x in atoms)
        case _:
            return False


def _call_roles(graph: Graph, nodes: Iterable[Node]) -> None:
    """Say what to call values that have no word by what they are to others.

    Of several that are alike in that, none is told by it.
    """
    found: dict[str, dict[Node, None]] = {}
    for node in nodes:
        for role, one in _roles(node):
            found.setdefault(role, {})[one] = None
    for role, alike in found.items():
        unnamed = [x for x in alike if known_word(graph, x) is None]
        if len(unnamed) == 1:
            graph.suggest(unnamed[0], role)


def _call_arguments(graph: Graph, nodes: Iterable[Node]) -> None:
    """Say what to call what has no word, by what the user called a function of it.

    What is one less a chance is told by this chance.
    """
    chances: dict[Node, list[Node]] = {}
    for node in nodes:
        if isinstance(node, Map) and node.function == "sigmoid":
            chances.setdefault(_unsigned(node.args[0].node), []).append(node)
        for word, one in _argument(graph, node):
            if known_word(graph, one) is None:
                graph.suggest(one, word)
    for pair in chances.values():
        for one, other in permutations(pair, 2):
            if one in graph.names:
                graph.suggest(other, COMPLEMENT.format(graph.names[one]))


def _argument(graph: Graph, node: Node) -> Iterator[tuple[str, Node]]:
    """Yield what to call the argument of a function whose value has a name, and it."""
    name = graph.names.get(node)
    match node:
        case Map(function=function, args=(Ref(node=arg),)) if name:
            if ELEMENTWISE[function].has("logistic"):
                yield f"{name}_logit{'s' * bool(arg.order)}", arg
            elif function_word(function) == "exp":
                yield f"log_{name}", arg
            else:
                yield f"{name}_arg", arg
        case Call(operator="softmax" | "log_softmax", args=(arg,)) if name:
            yield f"{name}_logits", arg
        case _:
            pass


def _roles(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield what operands are to a node, and which."""
    match node:
        case Product(factors=factors, inner=()):
            divisors = [base for ref in factors if (base := _divisor(ref.node))]
            yield from (("denominator", x) for x in divisors)
            if divisors:
                tops = (x.node for x in factors if isinstance(x.node, Sum))
                yield from (("numerator", x) for x in tops)
        case Map(function=function, args=(Ref(node=arg),)):
            several = "s" * bool(arg.order)
            if ELEMENTWISE[function].has("logistic"):
                yield f"logit{several}", _unsigned(arg)
            elif function_word(function) == "exp":
                yield f"exponent{several}", arg
        case Call(operator="softmax" | "log_softmax", args=(arg,)):
            yield "logits", arg
        case _:
            pass


def _unsigned(node: Node) -> Node:
    """What a node is the negative of, or the node."""
    match node:
        case Product(factors=(one,), coefficient=times, inner=(), constraints=()):
            return one.node if times == -1 else node
        case _:
            return node


def _divisor(node: Node) -> Node | None:
    """The sum that a node is one over, or the root of one."""
    match node:
        case Map(function="pow", args=(Ref(node=base), exponent)):
            power = constant_value(exponent.node)
            root = isinstance(base, Map) and base.function == "sqrt"
            inner = children(base)[0] if root else base
            divides = power is not None and power < 0 and isinstance(inner, Sum)
            return base if divides else None
        case _:
            return None


def call_result(graph: Graph, function: str, arg: Node, node: Node) -> None:
    """Say what to call the value of a function that is defined by others.

    It is told where no word says what is computed.
    """
    if children(node) and known_word(graph, node) is None:
        told = known_word(graph, arg)
        word = f"{function}_{told}"
        graph.derived.setdefault(node, word if told and fits(word) else function)


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
