"""Growing derivatives that stand in expressions: `grad(f, x)`, `hvp(f, x, v)`, ..."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from tests.programs.tree import ATOM, MUL, Expr, Shape, Statement, needs_of

if TYPE_CHECKING:
    from tests.programs.grow import Grower

MOST_EVALUATIONS = 600  # of an expression by the oracle, whose derivatives nest


class DerivativeGrower:
    """Grows derivatives, and counts what they cost the oracle."""

    def __init__(self, grower: Grower) -> None:
        self.grower = grower
        self.rng = grower.rng
        self.costs: dict[str, int] = {}  # of names that rest on derivatives
        self.spent = 1
        self.inside = False

    def named(self, name: str) -> None:
        """Note what a name costs whose expression was just grown."""
        self.costs[name], self.spent = self.spent, 1

    def expression(self, shape: Shape, depth: int) -> Expr | None:
        """A derivative of a shape, or a scalar made of one."""
        if self.inside:
            return None
        small = [x for x in self.grower.inputs if self.entries(x) <= 4]
        if not small:
            return None
        x = self.rng.choice(small)
        ways = self.ways(x, shape)
        if not ways:
            return None
        template, shapes = self.rng.choice(ways)
        self.inside = True
        first = self.grower.grow(shapes[0], min(depth, 2) - 1)
        self.inside = False
        rest = tuple(self.grower.leaf(s, 0) for s in shapes[1:])
        cost = self.cost(template, x, first)
        if cost > MOST_EVALUATIONS:
            return None
        self.spent = max(self.spent, cost)
        level = MUL if template.startswith("{1} @") else ATOM
        return Expr(template, (first, *rest), shape, level, needs_of(template))

    def elementwise(self, name: str) -> Statement | None:
        """`name[i] = grad(u[i], t[i])` of a vector that was defined before."""
        grower = self.grower
        pairs = [
            (u, t)
            for u in grower.names
            for t in grower.inputs
            if u not in grower.inputs
            if len(grower.names[u]) == 1
            if grower.names[u] == grower.names[t]
        ]
        if not pairs:
            return None
        u, t = self.rng.choice(pairs)
        cost = 8 * self.entries(t) * self.costs.get(u, 1)
        if cost > MOST_EVALUATIONS:
            return None
        self.spent = cost
        body = Expr(f"grad({u}[i], {t}[i])")
        statement = Statement(name, body, grower.names[u], ("i",))
        return statement if grower.checked(statement) is not None else None

    def entries(self, name: str) -> int:
        return int(np.size(self.grower.scope[name]))

    def cost(self, template: str, x: str, inner: Expr) -> int:
        """How often the oracle evaluates what is differentiated."""
        words = re.findall(r"[A-Za-z_]\w*", inner.text)
        below = max((self.costs.get(word, 1) for word in words), default=1)
        steps = 8 * self.entries(x)
        if "hess" in template:
            steps = steps * steps
        elif "hvp" in template:
            steps = 8 * steps
        elif "jvp" in template:
            steps = 8
        return steps * below

    def ways(self, x: str, shape: Shape) -> list[tuple[str, tuple[Shape, ...]]]:
        """Templates of a shape, with the shapes of what they take."""
        own, n = self.grower.names[x], self.grower.some_dim()
        found: list[tuple[str, tuple[Shape, ...]]] = []
        found.append((f"jvp({{0}}, {x}, {{1}})", (shape, own)))
        if own == shape:
            found += [
                (f"grad({{0}}, {x})", ((),)),
                (f"grad({{0}}, {x})", ((),)),
                (f"hvp({{0}}, {x}, {{1}})", ((), own)),
                (f"vjp({{0}}, {x}, {{1}})", ((n,), (n,))),
            ]
        if shape[len(shape) - len(own) :] == own:
            found.append((f"jac({{0}}, {x})", (shape[: len(shape) - len(own)],)))
        if own + own == shape and own:
            found += [(f"hess({{0}}, {x})", ((),))] * 4
        if not shape and own:
            found += [
                (f"sum(grad({{0}}, {x})**2)", ((),)),
                (f"sum(jac({{0}}, {x}))", ((n,),)),
            ]
        if not shape and len(own) == 1:
            found += [
                (f"{{1}} @ grad({{0}}, {x})", ((), own)),
                (f"trace(hess({{0}}, {x}))", ((),)),
                (f"{{1}} @ hess({{0}}, {x}) @ {{1}}", ((), own)),
                (f"{{1}} @ hvp({{0}}, {x}, {{2}})", ((), own, own)),
                (f"sum(hvp({{0}}, {x}, {{1}})**2)", ((), own)),
            ]
        return found
