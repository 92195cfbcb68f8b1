"""Nodes as text in index notation, for docstrings, documentation and debugging.

`sum_k A[i, k] * b[k] * sigmoid(t[k])`: the sign of summation binds like a product.
Slices stand in the subscripts, other deltas as `delta[i, j]`, indicators as `[i <= j]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from tensorgen.ir.index_text import (
    Index,
    combine,
    constraint_text,
    letters,
    solved_labels,
    subscript,
)
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Input,
    Iota,
    Label,
    Map,
    Node,
    Product,
    Ref,
    Size,
    Sum,
    children,
    constant_value,
    topological,
)

LIMIT = 12  # operations that one expression holds before parts of it get names

SUM, PRODUCT, POWER, ATOM = range(4)  # how tightly a text holds together
Text = tuple[str, int]
At = Mapping[Label, Index]

INFIX = {
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "!=",
    "logical_and": "&",
    "logical_or": "|",
}


def formula(node: Node, names: Mapping[Node, str] | None = None) -> str:
    """Return the definition of `node` in the letters i, j, k, ... of its axes.

    Values below it that have `names` are not spelled out; large ones without get
    names of their own and a line `where T1[i, j] = ...` each.
    """
    return _Printer([node], names or {}).definition(node)


def equation(name: str, node: Node, names: Mapping[Node, str] | None = None) -> str:
    """Return `name[i, j] = ...` with the formula of `node`."""
    printer = _Printer([node], names or {})
    return f"{subscript(name, printer.axes(node))} = {printer.definition(node)}"


def dump(nodes: Iterable[Node]) -> str:
    """List the nodes below `nodes`, one a line, operands first."""
    order = topological(nodes)
    made = [node for node in order if not isinstance(node, Input)]
    printer = _Printer(order, {node: f"%{k}" for k, node in enumerate(made)})
    return "\n".join(map(printer.line, order))


class _Printer:
    def __init__(self, roots: Sequence[Node], names: Mapping[Node, str]) -> None:
        self.roots = frozenset(roots)
        self.names = dict(names)
        self.where: list[Node] = []
        below = topological(roots)
        self.taken = {*names.values(), *_names_in(below)}
        self.uses: dict[Node, int] = {}
        for node in below:
            for child in children(node):
                self.uses[child] = self.uses.get(child, 0) + 1
        self.weights: dict[Node, int] = {}
        for node in below:
            parts = [
                1 if self.stands_apart(c) else self.weights[c] for c in children(node)
            ]
            self.weights[node] = (not _is_leaf(node)) + sum(parts)

    def stands_apart(self, node: Node) -> bool:
        """Whether a value is printed by name, given or made."""
        if node in self.names or _is_leaf(node):
            return True
        shared = self.uses.get(node, 0) > 1 and self.weights[node] > 3
        return shared or self.weights[node] > LIMIT

    def axes(self, node: Node) -> list[Index]:
        """The letters of a node's own axes."""
        pool = letters(self.taken)
        return [Index.letter(next(pool)) for _ in node.dims]

    def line(self, node: Node) -> str:
        """A node with its name, shape and body."""
        left = subscript(self.name(node), self.axes(node))
        line = f"{left}: ({', '.join(map(str, node.dims))})"
        return line if isinstance(node, Input) else f"{line} = {self.body(node)}"

    def definition(self, node: Node) -> str:
        """The body of a node, and the values that it made names for."""
        lines = [self.body(node)]
        for value in self.where:  # which grows meanwhile
            left = subscript(self.names[value], self.axes(value))
            lines.append(f"where {left} = {self.body(value)}")
        return "\n".join(lines)

    def body(self, node: Node) -> str:
        """What a node is, whether or not it has a name."""
        return self.spelled(node, self.axes(node))[0]

    def value(self, node: Node, at: Sequence[Index]) -> Text:
        """The entry of a node at some indices, by name where it has one."""
        if node in self.names or (self.stands_apart(node) and not _is_leaf(node)):
            return subscript(self.name(node), at), ATOM
        return self.spelled(node, at)

    def name(self, node: Node) -> str:
        """The name of a node, made if there is none."""
        if isinstance(node, Input):
            return node.name
        if node not in self.names:
            fresh = (f"T{k}" for k in range(1, len(self.taken) + 2))
            self.names[node] = next(name for name in fresh if name not in self.taken)
            self.taken.add(self.names[node])
            self.where.append(node)
        return self.names[node]

    def spelled(self, node: Node, at: Sequence[Index]) -> Text:
        """The entry of a node at some indices, spelled out."""
        # No sum inside may use a letter that means something outside.
        around = set(_letters_in(at)) - self.taken
        self.taken |= around
        text = self.kind(node, at)
        self.taken -= around
        return text

    def kind(self, node: Node, at: Sequence[Index]) -> Text:
        """The same, by the kind of the node."""
        match node:
            case Input(name=name):
                return subscript(name, at), ATOM
            case Constant(name=name):
                return name, ATOM
            case Size(value=value):
                return str(value), ATOM if len(value.terms) == 1 else SUM
            case Iota():
                return str(at[0]), ATOM if at[0].is_atom else SUM
            case Product():
                return self.product(node, at)
            case Sum():
                return self.sum(node, at)
            case Map():
                return self.map(node, at)
            case Call():
                return self.call(node, at)
        raise TypeError(f"cannot print {type(node).__name__}")

    # Products

    def product(self, node: Product, at: Sequence[Index]) -> Text:
        solved, constraints = solved_labels(node)
        indices: dict[Label, Index] = dict(enumerate(at))
        pool = letters(self.taken)
        summed = []
        for label in range(node.order, len(node.sizes)):
            if label not in solved:
                summed.append(next(pool))
                indices[label] = Index.letter(summed[-1])
        for label, form in reversed(solved.items()):
            indices[label] = combine(form, indices)
        over, under = [], []
        # Matrices before vectors, as a person writes them.
        for factor, labels in sorted(node.factors, key=lambda ref: -ref.node.order):
            place = [indices[label] for label in labels]
            base = _reciprocal(factor) if factor not in self.names else None
            if base is not None:
                place = [place[label] for label in base.labels]
                under.append(self.within(base.node, place, summed, POWER))
            else:
                over.append(self.within(factor, place, summed, PRODUCT))
        for kind, form in constraints:
            over.append(constraint_text(kind, combine(form, indices)))
        return _assembled(node.coefficient, summed, over, under)

    def within(
        self, node: Node, at: Sequence[Index], summed: Sequence[str], level: int
    ) -> str:
        """A factor, whose own summed letters must differ from those around it."""
        known = set(summed) - self.taken
        self.taken |= known
        text = _tight(self.value(node, at), level)
        self.taken -= known
        return text

    # Sums, maps and calls

    def sum(self, node: Sum, at: Sequence[Index]) -> Text:
        text = ""
        positive_first = sorted(node.terms, key=lambda term: term.coefficient < 0)
        for coefficient, term, labels in positive_first:
            part = self.value(term, [at[label] for label in labels])
            size = abs(coefficient)
            body = _tight(part, PRODUCT)
            if size != 1:
                body = f"{size} * {body}"
            sign = "-" if coefficient < 0 else "+"
            text += f" {sign} {body}" if text else ("-" if sign == "-" else "") + body
        return text, SUM

    def map(self, node: Map, at: Sequence[Index]) -> Text:
        parts = [self.value(n, [at[x] for x in labels]) for n, labels in node.args]
        if node.function in INFIX:
            sides = [_tight(part, PRODUCT) for part in parts]
            return f" {INFIX[node.function]} ".join(sides), -1
        if node.function == "pow":
            exponent = constant_value(node.args[1].node)
            if exponent == -1:
                return f"1 / {_tight(parts[0], POWER)}", PRODUCT
            return f"{_tight(parts[0], ATOM)}**{_tight(parts[1], ATOM)}", POWER
        if node.function == "root":
            return f"sqrt({parts[0][0]})", ATOM
        if node.function == "rroot":
            return f"1 / sqrt({parts[0][0]})", PRODUCT
        return f"{node.function}({', '.join(text for text, _ in parts)})", ATOM

    def call(self, node: Call, at: Sequence[Index]) -> Text:
        axes = dict(node.params).get("axes")
        if isinstance(axes, tuple) and len(node.args) == 1:
            return self.reduction(node, axes, at)
        args = ", ".join(map(self.name, node.args))
        return subscript(f"{node.operator}({args})", at), ATOM

    def reduction(self, node: Call, axes: tuple[int, ...], at: Sequence[Index]) -> Text:
        (arg,) = node.args
        inside, bound = [], []
        kept = iter(at)
        pool = letters(self.taken)
        for axis in range(arg.order):
            same = arg.order == node.order
            index = next(kept) if same or axis not in axes else Index.letter(next(pool))
            inside.append(index)
            if axis in axes:
                bound.append(str(index))
        text = self.within(arg, inside, bound, -1)
        return f"{node.operator}_{''.join(bound)}({text})", ATOM


def _assembled(
    coefficient: Fraction,
    summed: Sequence[str],
    over: Sequence[str],
    under: Sequence[str],
) -> Text:
    """Join a coefficient, a sign of summation, factors and divisors."""
    over, under = _powers(over), _powers(under)
    sign = "-" if coefficient < 0 else ""
    size = abs(coefficient)
    sigma = f"sum_{','.join(summed)} " if summed else ""
    factors = list(over)
    if under and not factors:
        factors = [str(size)]
        size = Fraction(1)
    body = " * ".join(factors)
    if under:
        below = under[0] if len(under) == 1 else f"({' * '.join(under)})"
        body += f" / {below}"
    if not body:
        tight = ATOM if size.denominator == 1 and not sign else PRODUCT
        return f"{sign}{sigma}{size}", tight
    if size != 1:
        return f"{sign}{size} * {sigma}{body}", PRODUCT
    single = len(factors) == 1 and not under and not sigma and not sign
    return f"{sign}{sigma}{body}", POWER if single else PRODUCT


def _powers(factors: Sequence[str]) -> list[str]:
    """Write a factor that occurs twice as its square."""
    count = {text: factors.count(text) for text in factors}
    return [text if c == 1 else f"{_grouped(text)}**{c}" for text, c in count.items()]


def _grouped(text: str) -> str:
    plain = text.replace("[", "").replace("]", "").replace(", ", "")
    return text if plain.isidentifier() else f"({text})"


def _tight(text: Text, level: int) -> str:
    """Put a text into parentheses where it holds together less than `level` asks."""
    sigma = level == PRODUCT and text[0].startswith(("sum_", "-"))
    return f"({text[0]})" if text[1] < level or sigma else text[0]


def _reciprocal(node: Node) -> Ref | None:
    """What a node is one over, if it is that."""
    if isinstance(node, Map) and node.function == "pow":
        base, exponent = node.args
        if constant_value(exponent.node) == -1:
            return base
    return None


def _is_leaf(node: Node) -> bool:
    return not children(node)


def _letters_in(at: Iterable[Index]) -> list[str]:
    atoms = (name for index in at for name, _ in index.terms)
    return [letter for atom in atoms for letter in re.findall(r"\w+", atom)]


def _names_in(nodes: Iterable[Node]) -> list[str]:
    found = [name for node in nodes for dim in node.dims for name in dim.symbols]
    for node in nodes:
        if isinstance(node, Input | Constant):
            found.append(node.name)
        elif isinstance(node, Size):
            found += node.value.symbols
    return found
