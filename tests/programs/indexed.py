"""Growing statements and sums in index notation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.programs.elementwise import UNARY
from tests.programs.tree import ADD, ATOM, MUL, NEG, Expr, Statement

if TYPE_CHECKING:
    from tests.programs.grow import Grower

LETTERS = tuple("ijklqrst") + tuple(f"i{k}" for k in range(1, 9))
Letters = dict[str, str]  # a letter and the dim that its range has


class IndexGrower:
    """Grows scalar expressions over letters. `letters` collects all of a statement."""

    def __init__(self, grower: Grower) -> None:
        self.grower = grower
        self.rng = grower.rng
        self.letters: Letters = {}

    def statement(self, name: str, depth: int) -> Statement | None:
        """`name[i, j] = ...`; None where its values are of no use."""
        self.letters = {}
        order = self.rng.choice((1, 1, 2, 2, 3))
        free = {x: self.some_range() for x in LETTERS[:order]}
        self.letters.update(free)
        body = self.body(free, depth)
        indices = list(free)
        self.rng.shuffle(indices)
        shape = tuple(free[x] for x in indices)
        result = Statement(name, body, shape, tuple(indices), dict(self.letters))
        return result if self.grower.checked(result) is not None else None

    def scalar(self, depth: int) -> Expr | None:
        """A sum over indices that stands in an array expression."""
        expr = self.sum({}, depth)
        return expr if self.grower.value(expr) is not None else None

    def some_range(self) -> str:
        dim = self.grower.some_dim()
        shorten = dim in self.grower.long and self.rng.random() < 0.2
        return f"{dim} - 1" if shorten else dim

    def body(self, free: Letters, depth: int) -> Expr:
        """An expression in which every free letter stands alone somewhere."""
        expr = self.grow(free, depth)
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
        # Shifted alone, a summed letter would start at -1.
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
            return self.sum(free, depth)
        if roll < 0.6:
            template, need, level = self.rng.choice(UNARY)
            return Expr(template, (self.grow(free, depth - 1),), (), level, (need,))
        left, right = self.grow(free, depth - 1), self.grow(free, depth - 1)
        if roll < 0.85:
            return Expr("{0} * {1}", (left, right), (), MUL, (MUL, NEG))
        sign = self.rng.choice("+-")
        return Expr(f"{{0}} {sign} {{1}}", (left, right), (), ADD, (ADD, MUL))

    def leaf(self, free: Letters) -> Expr:
        """An entry of something in scope, or an index as a number."""
        names = list(self.grower.names.items())
        self.rng.shuffle(names)
        if free and self.rng.random() < 0.1:
            letter = self.rng.choice(list(free))
            return Expr(f"{letter}")
        if len(free) > 1 and self.rng.random() < 0.08:
            first, second = self.rng.sample(list(free), 2)
            return Expr(f"delta({first}, {second})")
        for name, shape in names:
            positions = [self.position(dim, free) for dim in shape]
            if all(positions):
                return Expr(f"{name}[{', '.join(positions)}]" if shape else name)
        return Expr("0.5")

    def position(self, dim: str, free: Letters) -> str:
        """A letter, shifted or flipped, whose range stays inside an axis."""
        fitting = [letter for letter, length in free.items() if length == dim]
        short = [letter for letter, length in free.items() if length == f"{dim} - 1"]
        fitting += [f"{dim} - 1 - {x}" for x in fitting if self.rng.random() < 0.1]
        fitting += [text for x in short for text in (x, f"{x} + 1")]
        if not fitting:
            return "0" if self.rng.random() < 0.3 else ""
        return self.rng.choice(fitting)

    def sum(self, free: Letters, depth: int) -> Expr:
        """A sum over one or two new letters, or over a range."""
        bound: Letters = {}
        count = 1 if free else self.rng.choice((1, 2, 2, 3))
        for _ in range(count):
            dim = self.some_range()
            taken = {x for x, other in self.letters.items() if other != dim}
            taken.update(free, bound)
            bound[next(x for x in LETTERS if x not in taken)] = dim
        self.letters.update(bound)
        ranged = self.range(bound, free) if count == 1 else ""
        body = self.body({**free, **bound}, depth - 1)
        over = ranged or ", ".join(bound)
        return Expr(f"sum({{0}}, {over})", (body,))

    def range(self, bound: Letters, free: Letters) -> str:
        """Bounds for the one letter of `bound` that stay inside its range."""
        ((letter, dim),) = bound.items()
        same = [x for x, length in free.items() if length == dim]
        choices = ["", "", f"range({dim})"]
        if dim in self.grower.sizes:
            choices.append(f"range(1, {dim})")
        choices += [t for x in same for t in (f"range({x}, {dim})", f"range({x} + 1)")]
        chosen = self.rng.choice(choices)
        return f"{letter}={chosen}" if chosen else ""


def _leaves(expr: Expr) -> set[str]:
    return {tree.template for _, tree in expr.subtrees() if not tree.args}
