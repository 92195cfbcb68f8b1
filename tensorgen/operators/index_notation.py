"""Nodes as text in index notation, for docstrings, documentation and debugging.

`sum_k A[i, k] * b[k] * sigmoid(t[k])`: the sign of summation binds like a product.
Slices stand in the subscripts, other deltas as `delta[i, j]`, indicators as `[i <= j]`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import NamedTuple, assert_never

from tensorgen.ir.aliases import Aliases, turned
from tensorgen.ir.constraints import Ranges
from tensorgen.ir.formula_text import (
    ATOM,
    POWER,
    PRODUCT,
    SUM,
    Text,
    added,
    assembled,
    filled,
    gathered,
    number,
    tight,
)
from tensorgen.ir.index_text import (
    Index,
    combine,
    condition,
    constraint_text,
    letters,
    letters_in,
    names_in,
    one_points,
    solved_labels,
    subscript,
)
from tensorgen.ir.nodes import (
    Affine,
    Call,
    Constant,
    Constraint,
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
from tensorgen.operators.defined_calls import defined_of, is_defined
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.external_calls import external_of, is_external
from tensorgen.operators.matrices.capacitance import is_capacitance
from tensorgen.operators.named_norms import NamedNorms
from tensorgen.operators.promise_calls import bare, is_promise
from tensorgen.operators.solved_arrays import equation_of, is_unknown
from tensorgen.operators.told_places import is_sure, is_zero, named_entries

LIMIT = 12  # operations that one expression holds before parts of it get names

ONE_OVER = "1 / "


def formula(node: Node, names: Mapping[Node, str] | None = None) -> str:
    """Return the definition of `node` in the letters i, j, k, ... of its axes.

    Values below it that have `names` are not spelled out; large ones without get
    names of their own and a line `where T1[i, j] = ...` each.
    """
    printer = FormulaPrinter([node], names or {})
    return "\n".join([printer.body(node), *printer.explained()])


def equation(name: str, node: Node, names: Mapping[Node, str] | None = None) -> str:
    """Return `name[i, j] = ...` with the formula of `node`."""
    return "\n".join(equations([(name, node)], names))


def equations(
    named: Sequence[tuple[str, Node]], names: Mapping[Node, str] | None = None
) -> list[str]:
    """Return an equation for each node, then one for each part that got a name.

    A part that several of them share is named once.
    """
    printer = FormulaPrinter([node for _, node in named], names or {}, dict(named))
    lines = [
        f"{subscript(name, printer.axes(node))} = {printer.body(node)}"
        for name, node in named
    ]
    return lines + printer.explained()


def dump(nodes: Iterable[Node]) -> str:
    """List the nodes below `nodes`, one a line, operands first."""
    order = topological(nodes)
    made = [node for node in order if not isinstance(node, Input)]
    printer = FormulaPrinter(order, {node: f"%{k}" for k, node in enumerate(made)})
    return "\n".join(map(printer.line, order))


class FormulaPrinter:
    """Writes the formulas of nodes, with the same names for the same parts of them."""

    def __init__(
        self,
        roots: Sequence[Node],
        names: Mapping[Node, str],
        defined: Container[str] = (),
        apart: bool = True,
    ) -> None:
        """Write nodes below `roots`; large ones stand `apart` if they may."""
        self.apart = apart
        self.names = dict(names)
        self.where: list[Node] = []
        self.reaches_out = False
        """Whether terms with an entry outside of its array count as zero."""
        below = topological(roots)
        # What is being defined cannot be explained by its own name.
        others = [node for node, name in names.items() if name not in defined]
        self.aliases = Aliases(names, others)
        self.norms = NamedNorms(names)
        self.taken = {*names.values(), *names_in(below)}
        self.uses = Counter(child for node in below for child in children(node))
        self.weights: dict[Node, int] = {}
        for node in below:
            parts = [
                1 if self.stands_apart(c) else self.weights[c] for c in children(node)
            ]
            self.weights[node] = (not _is_leaf(node)) + sum(parts)

    def stands_apart(self, node: Node) -> bool:
        """Whether a value is printed by name, given or made."""
        if node in self.names or _is_leaf(node) or self.aliases.find(node):
            return True
        if not self.apart:
            return False
        shared = self.uses[node] > 1 and self.weights[node] > 3
        return shared or self.weights[node] > LIMIT

    def axes(self, node: Node) -> list[Index]:
        """The letters of a node's own axes."""
        pool = letters(self.taken)
        return [Index.atom(next(pool)) for _ in node.dims]

    def line(self, node: Node) -> str:
        """A node with its name, shape and body."""
        left = subscript(self.name(node), self.axes(node))
        line = f"{left}: ({', '.join(map(str, node.dims))})"
        return line if isinstance(node, Input) else f"{line} = {self.body(node)}"

    def explained(self) -> list[str]:
        """The values that names were made for."""
        lines = []
        for value in self.where:  # which grows meanwhile
            left = subscript(self.names[value], self.axes(value))
            lines.append(f"where {left} = {self.body(value)}")
        return lines

    def body(self, node: Node, at: Sequence[Index] | None = None) -> str:
        """What a node is, whether or not it has a name, at its axes or elsewhere."""
        at = self.axes(node) if at is None else at
        if (moved := turned(node)) and moved[0] not in self.names:
            node, labels = moved
            at = [at[label] for label in labels]
        return self.spelled(node, at)[0]

    def value(self, node: Node, at: Sequence[Index]) -> Text:
        """The entry of a node at some indices, by name where it has one."""
        if node not in self.names and (alias := self.aliases.find(node)):
            known = subscript(alias.name, [at[axis] for axis in alias.axes])
            return assembled(alias.factor, (), [known], ())
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
        with self.reserved(letters_in(at)):
            return self.kind(node, at)

    def entry(self, node: Node, at: Sequence[Index]) -> str:
        """The entry of an index array that is computed."""
        return self.value(node, at)[0]

    @contextmanager
    def reserved(self, letters: Iterable[str]) -> Iterator[None]:
        """Keep letters from being used anew."""
        new = set(letters) - self.taken
        self.taken |= new
        yield
        self.taken -= new

    def kind(self, node: Node, at: Sequence[Index]) -> Text:
        """The same, by the kind of the node."""
        match node:
            case Input(name=name):
                return subscript(name, at), ATOM
            case Constant(name=name):
                return name, ATOM
            case Size(value=value):
                level = PRODUCT if "*" in str(value) else ATOM
                return str(value), level if len(value.terms) == 1 else SUM
            case Iota():
                return str(at[0]), ATOM if at[0].is_atom else SUM
            case Product():
                return self.product(node, at)
            case Sum():
                return self.sum(node, at)
            case Map():
                return self.map(node, at)
            case Call() if is_promise(node) or is_capacitance(node):
                return self.value(node.args[0], at)
            case Call():
                return self.call(node, at)
            case _:
                assert_never(node)

    # Products

    def product(self, node: Product, at: Sequence[Index]) -> Text:
        """A product, with a sign of summation."""
        solved, constraints = self.fixed(node)
        indices: dict[Label, Index] = dict(enumerate(at))
        pool = letters(self.taken)
        bound: dict[Label, str] = {}
        for label in range(node.order, len(node.sizes)):
            if label not in solved:
                bound[label] = next(pool)
                indices[label] = Index.atom(bound[label])
        summed = list(bound.values())
        for label, form in reversed(solved.items()):
            indices[label] = combine(form, indices, self.entry)
        over, under = [], []
        # Scalars, then matrices before vectors, as a person writes them.
        ordered = sorted(node.factors, key=lambda f: (f.node.order > 0, -f.node.order))
        for factor, labels in ordered:
            place = [indices[label] for label in labels]
            divisor = _divisor(factor) if factor not in self.names else None
            if divisor is not None:
                place = [place[label] for label in divisor.base.labels]
                under.append(self.divided(divisor, place, summed))
                continue
            text = self.within(factor, place, summed, PRODUCT)
            if text.startswith(ONE_OVER) and text.count(" / ") == 1:
                under.append((text.removeprefix(ONE_OVER), ATOM))
            else:
                over.append(text)
        signs, constraints = self.signs(node, bound, constraints, indices)
        conditions = []
        for constraint in constraints:
            kind, form = constraint
            index = combine(form, indices, self.entry)
            own = letters_in([index])
            inside = [letter for letter in bound.values() if letter in own]
            if inside:
                conditions.append(condition(kind, index, inside))
            elif not is_sure(kind, index):
                over.append(constraint_text(kind, index))
        return assembled(node.coefficient, signs, over, under, conditions)

    def fixed(self, node: Product) -> tuple[dict[Label, Affine], list[Constraint]]:
        """What fixes summed labels, and the constraints that remain.

        Where a value is out of range, so may be an entry of what the formula names:
        such terms count as zero. Else an indicator says so.
        """
        found, constraints = solved_labels(node)
        checks, constraints = one_points(node, found, constraints)
        entries = list(named_entries(node, found, self.names)) if checks else []
        ranges = Ranges.of(dict(enumerate(node.sizes)))
        for check in checks:
            if any(ranges.keep_nonnegative(check.form - x) for x in entries):
                self.reaches_out = self.reaches_out or bool(check.form.terms)
            else:
                constraints.append(check)
        return found, constraints

    def signs(
        self,
        node: Product,
        bound: Mapping[Label, str],
        constraints: list[Constraint],
        indices: Mapping[Label, Index],
    ) -> tuple[list[str], list[Constraint]]:
        """What signs of summation say of letters, and the constraints that are left."""
        return [*bound.values()], constraints

    def divided(
        self, divisor: _Divisor, at: Sequence[Index], summed: Sequence[str]
    ) -> Text:
        """What stands below the line."""
        with self.reserved(summed):
            base = self.value(divisor.base.node, at)
        if divisor.power == 1:
            return base
        power = number(divisor.power)
        exponent = f"({power})" if "/" in power else power
        return f"{tight(base, ATOM)}**{exponent}", POWER

    def within(
        self, node: Node, at: Sequence[Index], summed: Sequence[str], level: int
    ) -> str:
        """A factor, whose own summed letters must differ from those around it."""
        with self.reserved(summed):
            return tight(self.value(node, at), level)

    # Sums, maps and calls

    def sum(self, node: Sum, at: Sequence[Index]) -> Text:
        """A sum, positive terms first."""
        terms = [(c, x, [at[label] for label in labels]) for c, x, labels in node.terms]
        if any(not index.terms for index in at):
            terms = [own for own in terms if not is_zero(own[1], own[2])]
        if len(terms) == 1 and terms[0][0] == 1:
            return self.value(*terms[0][1:])
        signed = []
        for coefficient, term, place in sorted(terms, key=lambda term: term[0] < 0):
            body = tight(self.value(term, place), PRODUCT)
            if (size := abs(coefficient)) != 1:
                body = number(size) if body == "1" else f"{number(size)} * {body}"
            signed.append(("-" if coefficient < 0 else "+", body))
        return added(signed if self.apart else gathered(signed))

    def map(self, node: Map, at: Sequence[Index]) -> Text:
        """An elementwise function."""
        parts = [self.value(n, [at[x] for x in labels]) for n, labels in node.args]
        row = ELEMENTWISE[node.function]
        if row.boolean and row.arity == 2:
            return row.numpy.format(*(tight(part, PRODUCT) for part in parts)), -1
        if (divisor := _divisor(node)) is not None:
            place = [at[label] for label in divisor.base.labels]
            return f"1 / {tight(self.divided(divisor, place, ()), POWER)}", PRODUCT
        if node.function == "pow":
            return f"{tight(parts[0], ATOM)}**{tight(parts[1], ATOM)}", POWER
        if row.spelled:
            return filled(row.spelled, parts)
        return f"{node.function}({', '.join(text for text, _ in parts)})", ATOM

    def call(self, node: Call, at: Sequence[Index]) -> Text:
        """A function of whole arrays."""
        if node.operator == "unpacked":
            # `A[i, {j, k, l}]`: an entry for each set of indices.
            lead, own = at[: node.args[0].order - 1], at[node.args[0].order - 1 :]
            name = self.name(node.args[0])
            inside = [*map(str, lead), f"{{{', '.join(map(str, own))}}}"]
            return f"{name}[{', '.join(inside)}]", ATOM
        axes = dict(node.params).get("axes")
        if not isinstance(axes, tuple) or len(node.args) > 1:
            args = ", ".join(
                self.name(arg if arg in self.names else bare(arg)) for arg in node.args
            )
            return subscript(f"{_function(node)}({args})", at), ATOM
        (arg,) = node.args
        if node.operator == "unit":
            kept = [index for axis, index in enumerate(at) if axis not in axes]
            length = self.norm(node, arg, axes, kept)
            return f"{tight(self.value(arg, at), PRODUCT)} / {length}", PRODUCT
        if node.operator == "rnorm":
            return f"{ONE_OVER}{self.norm(node, arg, axes, at)}", PRODUCT
        return self.reduction(node.operator, arg, axes, at)

    def norm(
        self, node: Call, arg: Node, axes: tuple[int, ...], at: Sequence[Index]
    ) -> str:
        """What a call divides by, by name where it has one."""
        named = self.norms.below(node)
        if named is not None:
            return subscript(self.names[named], at)
        return self.reduction("norm", arg, axes, at)[0]

    def reduction(
        self, name: str, arg: Node, axes: tuple[int, ...], at: Sequence[Index]
    ) -> Text:
        """A function over axes, bound to letters; its result may still have them."""
        inside, bound = [], []
        kept = iter(at)
        pool = letters(self.taken)
        for axis in range(arg.order):
            same = arg.order == len(at)
            index = next(kept) if same or axis not in axes else Index.atom(next(pool))
            inside.append(index)
            if axis in axes:
                bound.append(str(index))
        text = self.within(arg, inside, bound, -1)
        return f"{name}_{''.join(bound)}({text})", ATOM


class _Divisor(NamedTuple):
    """One over a power."""

    base: Ref
    power: Fraction = Fraction(1)


def _divisor(node: Node) -> _Divisor | None:
    """What a node is one over, if it is that."""
    if isinstance(node, Map) and node.function == "pow":
        base, exponent = node.args
        power = constant_value(exponent.node)
        if power is not None and power < 0:
            return _Divisor(base, -power)
    return None


def _is_leaf(node: Node) -> bool:
    return not children(node)


def _function(node: Call) -> str:
    """What the spec calls the function of a call."""
    if is_unknown(node):
        return equation_of(node).name
    if is_defined(node):
        return defined_of(node).name
    return external_of(node).name if is_external(node) else node.operator
