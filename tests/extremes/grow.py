"""Random naive texts, by a grammar of exponentials, logarithms and quotients.

Three kinds of text stand for vectors: numbers of any sign, positive numbers, and
probabilities. Index notation has the same texts with an index behind each name.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import NamedTuple

from tests.extremes.shapes import SHAPES, UNSURE
from tests.extremes.tree import Expr, Program


class Choice(NamedTuple):
    """A template with the kinds of its arguments; is it promised to be stable?"""

    weight: int
    template: str
    kinds: str
    promised: bool = True


CHOICES: dict[str, tuple[Choice, ...]] = {
    "number": (
        Choice(10, "{0}", "positive"),
        Choice(8, "log({0})", "positive"),
        Choice(5, "tanh({0})", "number"),
        Choice(4, "{0} + {1}", "number number"),
        Choice(2, "{0} - {1}", "number number", UNSURE),
        Choice(3, "2*{0}", "number"),
        Choice(3, "-{0}", "number"),
        Choice(4, "{0}*{1}", "number number"),
        Choice(4, "{0}*{1}", "positive number"),
        Choice(8, "{0}/{1}", "number positive"),
        Choice(4, "log(1 - {0})", "unit"),
    ),
    "positive": (
        Choice(22, "exp({0})", "number"),
        Choice(8, "{0} + {1}", "positive positive"),
        Choice(8, "1 + {0}", "positive"),
        Choice(5, "p*{0}", "positive"),
        Choice(3, "3*{0}", "positive"),
        Choice(4, "{0}**2", "positive"),
        Choice(2, "{0}**1.5", "positive"),
        Choice(6, "cosh({0})", "number"),
        Choice(5, "sqrt({0})", "positive"),
        Choice(8, "{0}/{1}", "positive positive"),
        Choice(4, "{0}*{1}", "positive positive"),
        Choice(4, "1/{0}", "positive"),
        Choice(4, "1 + {0}**2", "number"),
        Choice(4, "{0}", "unit"),
        Choice(3, "log(1 + {0})", "positive"),
    ),
    "unit": (
        Choice(4, "sigmoid({0})", "number"),
        Choice(3, "exp(-{0})", "positive"),
        Choice(2, "1 - exp(-{0})", "positive"),
        Choice(2, "{0}/({0} + {1})", "positive positive"),
        Choice(1, "1 - sigmoid({0})", "number"),
    ),
}
LEAVES = {
    "number": ("x", "x", "x", "-x", "v*x", "2*x", "x + v", "x - y", "y"),
    "positive": ("p", "exp(x)", "p*exp(y)", "1 + x**2", "exp(-x)", "exp(v*x)"),
    "unit": ("sigmoid(x)", "exp(-p)", "exp(x)/(1 + exp(x))"),
}
# Sums over an index @i inside of a text with the index @o, and what may stand in them.
RANGES = (
    "sum({0}, @i)",
    "sum({0}, @i=range(@o + 1))",
    "sum({0}, @i, t[@i] >= t[@o])",
)
KERNELS = ("exp(x[@o] - y[@i])", "exp(M[@o, @i])")
ROOTS: tuple[tuple[int, str, str], ...] = (
    (3, "sum({0}@)", "number"),
    (3, "sum(log({0})@)", "positive"),
    (2, "log(sum({0}@))", "positive"),
    (2, "sum({0}@)/sum({1}@)", "number positive"),
    (1, "log(sum({0}@)/sum({1}@))", "positive positive"),
    (1, "sqrt(sum({0}@))", "positive"),
)


@dataclass
class Grower:
    """Grows texts from one stream of random numbers."""

    random: random.Random

    def tree(self, kind: str, depth: int, index: str = "") -> Expr:
        """Return a random text of a kind; with an index, in index notation."""
        if depth <= 0 or self.random.random() < 0.08:
            return Expr(named(self.random.choice(LEAVES[kind]), index), (), kind)
        if kind == "positive" and self.random.random() < 0.22:
            return self.reduction(depth, index)
        choices = CHOICES[kind]
        chosen = self.random.choices(choices, [c[0] for c in choices])[0]
        args = tuple(self.tree(k, depth - 1, index) for k in chosen.kinds.split())
        return Expr(named(chosen.template, index), args, kind, chosen.promised)

    def reduction(self, depth: int, index: str) -> Expr:
        """Return a positive sum, over an index of its own in index notation."""
        if not index:
            return Expr("sum({0})", (self.tree("positive", depth - 1),), "positive")
        inner = {"i": "k", "j": "k"}.get(index, chr(ord(index) + 1))
        body = self.tree("positive", depth - 1, inner)
        template = self.random.choice(RANGES).replace("@i", inner).replace("@o", index)
        if "=range" not in template and f"[{inner}" not in body.raw:
            template = f"sum({{0}}, {inner}=range(n))"  # nothing else says how far
        if self.random.random() < 0.4:
            kernel = self.random.choice(KERNELS)
            kernel = kernel.replace("@i", inner).replace("@o", index)
            body = Expr(f"{kernel}*{{0}}", (body,), "positive")
        return Expr(template, (body,), "positive")

    def root(self, depth: int) -> Expr:
        """Return a scalar."""
        _, template, kinds = self.random.choices(ROOTS, [r[0] for r in ROOTS])[0]
        index = self.random.choice(("", "", "i"))
        args = tuple(self.tree(k, depth, index) for k in kinds.split())
        whole = all("[i" in arg.raw for arg in args)
        over = (", i" if whole else ", i=range(n)") if index else ""
        return Expr(template.replace("@", over), args)

    def shaped(self, depth: int) -> Expr:
        """Return a text that is known from practice, with random texts in its slots."""
        shape = self.random.choice(SHAPES)
        slots = [slot.partition("@") for slot in shape.slots.split()]
        args = tuple(self.tree(kind, depth, index) for kind, _, index in slots)
        return Expr(shape.template, args, promised=shape.promised)


def named(template: str, index: str) -> str:
    """The template with an index behind each vector."""
    if not index:
        return template
    return re.sub(r"\b([xyvpwct])\b", rf"\1[{index}]", template)


def program(seed: int) -> Program:
    """Return the program of a seed: odd ones are random, even ones have a shape."""
    numbers = random.Random(seed)
    grower = Grower(numbers)
    while True:
        tree = grower.root(2) if seed % 2 else grower.shaped(numbers.randrange(2))
        found = Program(seed, tree, "x")
        variables = [name for name in "xyps" if name in found.words]
        if variables:
            likely = [name for name in "xx" if name in variables]
            return Program(seed, tree, numbers.choice([*likely, *variables]))
