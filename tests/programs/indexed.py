"""Growing statements and reductions in index notation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tests.programs import meaning
from tests.programs.elementwise import UNARY
from tests.programs.reading import Meaningless, read
from tests.programs.tree import ADD, ATOM, MUL, NEG, Expr, Statement

if TYPE_CHECKING:
    from tests.programs.grow import Grower

LETTERS = tuple("ijklqrst") + tuple(f"i{k}" for k in range(1, 9))
Letters = dict[str, str]  # a letter and the dim that its range has
FLOORS = {"max": "maximum", "min": "minimum", "logsumexp": "logaddexp"}
REDUCTIONS = (*["sum"] * 8, "mean", "prod", "max", "min", "norm", "logsumexp")
# Sizes for which dims that are not provably equal differ.
DISTINCT = {"n": 31, "m": 47, "p": 71}


class IndexGrower:
    """Grows scalar expressions over letters."""

    def __init__(self, grower: Grower) -> None:
        self.grower = grower
        self.rng = grower.rng
        self.sums: list[tuple[str, str]] = []  # dims, and sums of letters inside

    def statement(self, name: str, depth: int) -> Statement | None:
        """`name[i, j] = ...`; None where its values are of no use."""
        order = self.rng.choice((1, 1, 2, 2, 3))
        free = {x: self.some_range() for x in LETTERS[:order]}
        indices = list(free)
        self.rng.shuffle(indices)
        shape = tuple(free[x] for x in indices)
        body = self.grow(free, depth)
        result = Statement(name, body, shape, tuple(indices))
        if not self.has_its_shape(result):
            body = self.anchored(body, free)
            result = Statement(name, body, shape, tuple(indices))
            if not self.has_its_shape(result):
                return None
        return result if self.grower.checked(result) is not None else None

    def has_its_shape(self, statement: Statement) -> bool:
        """Whether the ranges of a statement's left indices follow as they should."""
        indexed = tuple(sorted(self.grower.indexed.items()))
        reading = read(statement.body.text, statement.indices, indexed)
        names = {**self.grower.names, **self.grower.index_shapes}

        def shapes(name: str) -> list[int]:
            return [meaning.length(dim, DISTINCT) for dim in names[name]]

        try:
            ranges = reading.intervals(shapes, DISTINCT)
        except Meaningless:
            return False
        return [ranges[x][1] for x in reading.left] == [
            meaning.length(dim, DISTINCT) for dim in statement.shape
        ]

    def scalar(self, depth: int) -> Expr | None:
        """A reduction over indices that stands in an array expression."""
        expr = self.reduction({}, depth)
        sound = self.has_its_shape(Statement("_", expr, ()))
        return expr if sound and self.grower.value(expr) is not None else None

    def some_range(self) -> str:
        dim = self.grower.some_dim()
        shorten = dim in self.grower.long and self.rng.random() < 0.2
        return f"{dim} - 1" if shorten else dim

    def anchored(self, expr: Expr, free: Letters) -> Expr:
        """An expression in which every letter stands alone somewhere."""
        for letter in free:
            anchor = self.anchor(letter, free)
            if anchor.template not in _leaves(expr):
                sign = self.rng.choice((" * ", " + "))
                level = MUL if sign == " * " else ADD
                expr = Expr(
                    f"{{0}}{sign}{{1}}", (expr, anchor), (), level, (level, NEG)
                )
        return expr

    def anchor(self, letter: str, free: Letters) -> Expr:
        """A use of a letter alone that gives it its range."""
        dim = free[letter]
        for name, shape in self.grower.names.items():
            if shape == (dim,):
                return Expr(f"{name}[{letter}]")
        base = dim.removesuffix(" - 1")
        # Shifted alone, a bound letter would start at -1.
        positions = [letter] if dim == base else [letter, f"{letter} + 1"]
        for name, shape in self.grower.names.items():
            if base in shape:
                uses = []
                for position in positions:
                    at = ["0"] * len(shape)
                    at[shape.index(base)] = position
                    uses.append(f"{name}[{', '.join(at)}]")
                level = ATOM if len(uses) == 1 else MUL
                return Expr(" * ".join(uses), (), (), level)
        raise ValueError(f"no input has the dim {base}")

    def grow(self, free: Letters, depth: int) -> Expr:
        """A scalar expression over free letters."""
        roll = self.rng.random()
        if depth <= 0 or roll < 0.2:
            return self.leaf(free)
        if roll < 0.4:
            return self.reduction(free, depth)
        if roll < 0.6:
            template, need, level = self.rng.choice(UNARY)
            return Expr(template, (self.grow(free, depth - 1),), (), level, (need,))
        left, right = self.grow(free, depth - 1), self.grow(free, depth - 1)
        if roll < 0.85:
            return Expr("{0} * {1}", (left, right), (), MUL, (MUL, NEG))
        sign = self.rng.choice("+-")
        return Expr(f"{{0}} {sign} {{1}}", (left, right), (), ADD, (ADD, MUL))

    def leaf(self, free: Letters) -> Expr:
        """An entry of something in scope, or what can be made of indices alone."""
        rng, letters = self.rng, list(free)
        names = list(self.grower.names.items())
        rng.shuffle(names)
        if free and rng.random() < 0.1:
            return Expr(rng.choice(letters))
        if len(free) > 1 and rng.random() < 0.12:
            first, second = rng.sample(letters, 2)
            template = rng.choice(
                ("delta({}, {})", "delta({}, {} + 1)", "({} < {})", "({} <= {})")
            )
            return Expr(template.format(first, second))
        for name, shape in names:
            wanted = len(shape) == 2 and rng.random() < 0.12
            if wanted and (row := self.row(name, shape, free)):
                return row
            positions = [self.position(dim, free) for dim in shape]
            if all(positions):
                return Expr(f"{name}[{', '.join(positions)}]" if shape else name)
        return Expr("0.5")

    def row(self, name: str, shape: tuple[str, ...], free: Letters) -> Expr | None:
        """A row or a column of a matrix, times a vector."""
        for axis in self.rng.sample((0, 1), 2):
            other = [x for x, s in self.grower.names.items() if s == (shape[1 - axis],)]
            at = self.position(shape[axis], free)
            if other and at:
                vector = self.rng.choice(other)
                if axis == 0:
                    return Expr(f"{name}[{at}, :] @ {vector}", (), (), MUL)
                return Expr(f"{vector} @ {name}[:, {at}]", (), (), MUL)
        return None

    def position(self, dim: str, free: Letters) -> str:
        """An affine form of letters, or an index array, that stays inside an axis."""
        rng = self.rng
        fitting = [letter for letter, length in free.items() if length == dim]
        short = [letter for letter, length in free.items() if length == f"{dim} - 1"]
        fitting += [f"{dim} - 1 - {x}" for x in fitting if rng.random() < 0.15]
        fitting += [text for x in short for text in (x, f"{x} + 1")]
        fitting += [text for found, text in self.sums if found == dim] * 2
        fitting += self.derived(dim, free) * 2
        for name, target in self.grower.indexed.items():
            if target == dim and rng.random() < 0.7:
                at = [
                    [x for x, length in free.items() if length == axis]
                    for axis in self.grower.index_shapes[name]
                ]
                if all(at):
                    inside = ", ".join(rng.choice(found) for found in at)
                    fitting += [f"{name}[{inside}]"] * 3
        if not fitting:
            return "0" if rng.random() < 0.3 else ""
        return rng.choice(fitting)

    def derived(self, dim: str, free: Letters) -> list[str]:
        """Forms of two letters, or with a stride, for an axis of a derived dim."""
        if dim not in self.grower.derived:
            return []
        a, b = self.grower.derived[dim]
        first = [x for x, length in free.items() if length == a]
        if not b:
            return [text for x in first for text in (f"2*{x}", f"2*{x} + 1")]
        second = [y for y, length in free.items() if length == b]
        pairs = [(x, y) for x in first for y in second if x != y]
        found = [f"{x} + {y}" for x, y in pairs]
        return found + [f"{x} - {y} + {b} - 1" for x, y in pairs]

    def reduction(self, free: Letters, depth: int) -> Expr:
        """A reduction over one or more new letters, over a range, or conditional."""
        rng, bound = self.rng, dict[str, str]()
        kind = rng.choice(REDUCTIONS)
        count = 1 if free or kind != "sum" else rng.choice((1, 2, 2, 3))
        for _ in range(count):
            dim = self.some_range()
            bound[next(x for x in LETTERS if x not in {*free, *bound})] = dim
        kept = list(self.sums)
        over = ", ".join(bound)
        if count == 1:
            over = self.range(bound, free, kind)
        body = self.grow({**free, **bound}, depth - 1)
        self.sums = kept
        if rng.random() < 0.85:
            body = self.anchored(body, bound)
        if kind in ("sum", "prod") and "=" not in over and rng.random() < 0.55:
            over += f", {rng.choice(list(self.conditions(bound, free)))}"
        if kind == "norm":
            body = Expr("2 + sin({0})", (body,), (), ADD)
        if kind in FLOORS and "=" not in over and rng.random() < 0.55:
            # Of no entries these are infinite.
            over += f", {rng.choice(list(self.conditions(bound, free)))}"
            return Expr(f"{FLOORS[kind]}(0.3, {kind}({{0}}, {over}))", (body,))
        return Expr(f"{kind}({{0}}, {over})", (body,))

    def conditions(self, bound: Letters, free: Letters) -> Iterator[str]:
        """Comparisons of a bound letter with others, and with index arrays."""
        every = {**free, **bound}
        for x, dim in bound.items():
            alike = [y for y in every if y != x and every[y] == dim]
            for y in alike:
                yield f"{x} {self.rng.choice(('<', '<=', '!=', '>'))} {y}"
            for name, target in self.grower.indexed.items():
                if self.grower.index_shapes[name] == (dim,):
                    for y in every:
                        if every[y] == target and y != x:
                            yield f"{name}[{x}] == {y}"
            yield f"{x} > 0"

    def range(self, bound: Letters, free: Letters, kind: str) -> str:
        """The one letter of `bound`, perhaps with bounds inside its range."""
        ((letter, dim),) = bound.items()
        same = [x for x, length in free.items() if length == dim]
        choices = ["", "", f"range({dim})"]
        choices += [t for x in same for t in (f"range({x}, {dim})", f"range({x} + 1)")]
        if kind in ("sum", "prod"):
            if dim in self.grower.sizes:
                choices.append(f"range(1, {dim})")
            choices += [f"range({x})" for x in same]
            choices += [f"range({x} + 1, {dim})" for x in same]
            choices += [f"range({dim} - {x})" for x in same]
        chosen = self.rng.choice(choices)
        for x in same:
            if chosen == f"range({dim} - {x})":
                self.sums.append((dim, f"{x} + {letter}"))
        return f"{letter}={chosen}" if chosen else letter


def _leaves(expr: Expr) -> set[str]:
    return {tree.template for _, tree in expr.subtrees() if not tree.args}
