"""Growing random programs from a seed.

Every expression is evaluated as soon as it is made, so that what leaves its domain,
grows too large, or stands near a kink is thrown away at once.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.programs import meaning
from tests.programs.derivatives import DerivativeGrower
from tests.programs.elementwise import BINARY, KINKS, UNARY
from tests.programs.indexed import IndexGrower
from tests.programs.reading import Meaningless
from tests.programs.tree import (
    ADD,
    ATOM,
    MUL,
    NEG,
    POW,
    Expr,
    Shape,
    Statement,
    needs_of,
)

Array = Any
LARGEST = 20.0  # values beyond this are thrown away
CLOSEST = 0.05  # arguments nearer to a kink are thrown away


class Grower:
    """The names in scope with their values, and the ways to grow from them."""

    def __init__(self, rng: random.Random, sizes: Mapping[str, int]) -> None:
        self.rng = rng
        self.sizes = sizes
        self.long = [dim for dim, size in sizes.items() if size > 1]
        self.names: dict[str, Shape] = {}
        self.inputs: list[str] = []
        self.positive: set[str] = set()
        self.promises: dict[str, str] = {}  # of matrices: symmetric, spd
        self.scope: dict[str, Array] = {**meaning.NUMPY, **sizes}
        self.statements: list[Statement] = []
        self.derived: dict[str, tuple[str, str]] = {}  # a + b - 1, or 2*a: (a, "")
        self.indexed: dict[str, str] = {}
        self.index_shapes: dict[str, Shape] = {}
        self.indices = IndexGrower(self)
        self.derivatives = DerivativeGrower(self)

    def add(self, name: str, shape: Shape, value: Array) -> None:
        """Bring a name into scope."""
        self.names[name] = shape
        self.scope[name] = value

    def add_indices(self, name: str, shape: Shape, dim: str, value: Array) -> None:
        """Bring an index array into scope."""
        self.index_shapes[name], self.indexed[name] = shape, dim
        self.scope[name] = value

    def define(self, statement: Statement) -> None:
        """Bring what a statement defines into scope."""
        self.add(statement.name, statement.shape, self.checked(statement))
        self.statements.append(statement)
        self.derivatives.named(statement.name)

    def value(self, expr: Expr) -> Array:
        """The value of an expression; None where it should not be used."""
        return self.checked(Statement("_", expr, expr.shape))

    def checked(self, statement: Statement) -> Array:
        """The value of a statement; None where it should not be used."""
        with np.errstate(all="ignore"):
            try:
                value = meaning.evaluate(
                    statement, self.scope, self, np, self.statements
                )
            except Meaningless:
                return None
        sound = (
            np.all(np.isfinite(value)) and np.max(np.abs(value), initial=0) < LARGEST
        )
        return value if sound else None

    # The ways to grow an expression of a shape

    def grow(self, shape: Shape, depth: int) -> Expr:
        """An expression of a shape."""
        by_order = (self.from_scalar, self.from_vector, self.from_matrix)
        ways: list[Callable[[Shape, int], Expr | None]] = [self.leaf]
        if depth > 0:
            ways = [self.unary, self.binary, self.binary, self.kinked]
            ways += [by_order[min(len(shape), 2)]] * 4
            ways += [self.reduced] * 2
            ways += [self.derivatives.expression] * 3
            ways += [self.leaf] * (depth == 1)
        for _ in range(6):
            expr = self.rng.choice(ways)(shape, depth)
            if expr is not None and self.value(expr) is not None:
                return expr
        return self.leaf(shape, 0)

    def leaf(self, shape: Shape, depth: int) -> Expr:
        """A name, or what one subscript makes of one."""
        pick = self.rng.choice
        found = []
        for name, s in self.names.items():
            # Definitions rather than inputs, that values may be shared.
            weight = 3 if name in self.inputs else 8
            found += [Expr(name, (), s)] * (weight * (s == shape))
        for name in sorted(self.positive):
            if self.names[name] == shape:
                found.append(Expr(f"log({name})", (), shape))
                found.append(Expr(f"sqrt({name})", (), shape))
                found.append(Expr(f"{name}**0.7", (), shape, POW))
        for name, s in self.names.items():
            if len(s) > 1 and s[::-1] == shape:
                found.append(Expr(f"{name}.T", (), shape))
            found += self.pieces(name, s, shape)
            for row, dim in self.indexed.items():
                if s[:1] == (dim,) and self.index_shapes[row] + s[1:] == shape:
                    found += [Expr(f"{name}[{row}]", (), shape)] * 5
        if not shape:
            found.append(Expr(pick(("0.5", "2", "1.25", "pi", "3")), (), ()))
        if found:
            return pick(found)
        if len(shape) == 2:
            rows, columns = (self.leaf((dim,), 0) for dim in shape)
            if pick((True, False)):
                return Expr("outer({0}, {1})", (rows, columns), shape)
            args = (rows, columns)
            return Expr("{0}[:, None] * {1}", args, shape, MUL, (ATOM, NEG))
        sizes = ", ".join(shape)
        scale = self.leaf((), 0)
        return Expr(f"{{0}} * ones({sizes})", (scale,), shape, MUL, (MUL,))

    def pieces(self, name: str, shape: Shape, wanted: Shape) -> list[Expr]:
        """Rows, columns, entries and slices of a name that have a shape."""
        subscripts: list[tuple[str, Shape]] = []
        if shape:
            at = self.rng.choice(("0", "-1"))
            subscripts.append((at, shape[1:]))
            short = f"{shape[0]} - 1"
            if shape[0] in self.long:
                subscripts.append(("1:", (short, *shape[1:])))
                subscripts.append((f":{short}", (short, *shape[1:])))
        if len(shape) == 2:
            subscripts.append((f":, {at}", shape[:1]))
            subscripts.append((f"{at}, 0", ()))
            if shape[1] in self.long:
                subscripts.append((":, 1:", (shape[0], f"{shape[1]} - 1")))
        if len(shape) == 3:
            subscripts.append((f":, :, {at}", shape[:2]))
            subscripts.append((f":, {at}", (shape[0], shape[2])))
        return [
            Expr(f"{name}[{s}]", (), wanted) for s, new in subscripts if new == wanted
        ]

    def unary(self, shape: Shape, depth: int) -> Expr | None:
        template, need, level = self.rng.choice(UNARY)
        arg = self.grow(shape, depth - 1)
        return Expr(template, (arg,), shape, level, (need,))

    def kinked(self, shape: Shape, depth: int) -> Expr | None:
        """A function with a kink, away from it."""
        template, distance = self.rng.choice(KINKS)
        left, right = self.grow(shape, depth - 1), self.leaf(self.narrower(shape), 0)
        others = tuple(self.leaf(self.narrower(shape), 0) for _ in range(2))
        gap = self.value(Expr(distance, (left, right), shape, ADD, (MUL, MUL)))
        if gap is None or np.min(np.abs(gap)) < CLOSEST:
            return None
        args = (left, right, *others)[
            : 1 + max(k for k in range(4) if f"{{{k}}}" in template)
        ]
        return Expr(template, args, shape, ATOM, (ADD + 1,) * len(args))

    def narrower(self, shape: Shape) -> Shape:
        """A shape that broadcasts to a shape."""
        return shape[self.rng.choice([0, 0, 0, len(shape), 1][: 4 + bool(shape)]) :]

    def binary(self, shape: Shape, depth: int) -> Expr | None:
        template, level, needs = self.rng.choice(BINARY)
        shapes = [shape, self.narrower(shape)]
        self.rng.shuffle(shapes)
        left, right = (self.grow(s, depth - 1) for s in shapes)
        return Expr(template, (left, right), shape, level, needs)

    # Reductions and linear algebra

    def some_dim(self) -> str:
        return self.rng.choice(list(self.sizes))

    def reduced(self, shape: Shape, depth: int) -> Expr | None:
        """A reduction over one axis, or a function that keeps the shape."""
        if len(shape) > 1 or (shape and self.rng.random() < 0.3):
            axis = self.rng.choice((-1, 0))
            name = self.rng.choice(("softmax", "log_softmax"))
            arg = self.grow(shape, depth - 1)
            return Expr(f"{name}({{0}}, axis={axis})", (arg,), shape)
        axis = self.rng.randrange(len(shape) + 1)
        longer = (*shape[:axis], self.some_dim(), *shape[axis:])
        name = self.rng.choice(
            ("sum", "sum", "mean", "norm", "logsumexp", "var", "max")
        )
        arg = self.grow(longer, depth - 1)
        if name == "norm":
            arg = Expr("2 + sin({0})", (arg,), longer, ADD)
            if not shape:
                return Expr("norm({0})", (arg,), shape)
        if name == "max":
            value = self.value(arg)
            if value is None or np.any(_gap(value, axis) < CLOSEST):
                return None
        axis = self.rng.choice((axis, axis - len(longer)))
        return Expr(f"{name}({{0}}, axis={axis})", (arg,), shape)

    def from_scalar(self, shape: Shape, depth: int) -> Expr | None:
        n, m = self.some_dim(), self.some_dim()
        ways: list[tuple[str, tuple[Shape, ...]]] = [
            ("{0} @ {1}", ((n,), (n,))),
            ("dot({0}, {1})", ((n,), (n,))),
            ("vdot({0}, {1})", ((n, m), (n, m))),
            ("trace({0})", ((n, n),)),
            ("trace({0} @ {1})", ((n, m), (m, n))),
            ("sum({0})", ((n, m),)),
            ("sum({0} * {1})", ((n, m), (m,))),
            ("sum({0}**2)", ((n, m),)),
            ("mean({0})", ((n, m),)),
            ("var({0})", ((n,),)),
            ("norm(1.5 + {0})**2", ((n,),)),
            ("logsumexp({0})", ((n,),)),
            ('einsum("ij,i,j->", {0}, {1}, {2})', ((n, m), (n,), (m,))),
            ('einsum("i,i,i->", {0}, {1}, {1})', ((n,), (n,))),
            ("det({0})", (("spd", n),)),
            ("logdet({0})", (("spd", n),)),
            ("{0} @ solve({1}, {2})", ((n,), ("spd", n), (n,))),
            ("trace(inv({0}) @ {1})", (("spd", n), (n, n))),
            ("trace({0} @ {0} @ {0})", ((n, n),)),
            ("trace(kron({0}, {1}))", ((n, n), (m, m))),
            ("sum(cholesky({0}))", (("spd", n),)),
            ("tensordot({0}, {1}, 2)", ((n, m), (n, m))),
            ("mse({0}, {1})", ((n, m), (n, m))),
            ("bce_with_logits({0}, {1})", ((n,), (n,))),
            ("bce(sigmoid({0}), sigmoid({1}))", ((n,), (n,))),
            ("sum(cross(stack([{0}, {1}, {2}]), stack([{2}, {0}, 2])))", ((), (), ())),
            ("sum(logdet({0}))", (("spd", n, m),)),
            ("tr({0} @ {1})", ((n, m), (m, n))),
            ("cross_entropy({0}, {1})", ((n, m), (n, m))),
            ("prod({0})", ((n,),)),
            ("sum(concatenate([{0}, {1}])**2)", ((n,), (m,))),
            ("sum(stack([{0}, {1}]) @ {2})", ((n,), (n,), (n,))),
            ("sum(ravel({0})[1:] * ravel({0})[:-1])", ((n, m),)),
        ]
        if self.rng.random() < 0.04:
            ways = [("trace(expm({0}))", ((n, n),))]
        if self.rng.random() < 0.4:
            return self.indices.scalar(depth)
        return self.filled(self.rng.choice(ways), shape, depth)

    def from_vector(self, shape: Shape, depth: int) -> Expr | None:
        (n,), m = shape, self.some_dim()
        ways: list[tuple[str, tuple[Shape, ...]]] = [
            ("{0} @ {1}", ((n, m), (m,))),
            ("{0} @ {1}", ((m,), (m, n))),
            ("{0}.T @ {1}", ((m, n), (m,))),
            ("{0} @ ({1} @ {2})", ((n, m), (m, n), (n,))),
            ("matmul({0}, {1})", ((n, m), (m,))),
            ('einsum("ij,ij->i", {0}, {1})', ((n, m), (n, m))),
            ('einsum("ij,j,j->i", {0}, {1}, {2})', ((n, m), (m,), (m,))),
            ('einsum("ji->i", {0})', ((m, n),)),
            ("cumsum({0})", ((n,),)),
            ("flip({0})", ((n,),)),
            ("roll({0}, 1)", ((n,),)),
            ("prod({0}, axis=1)", ((n, m),)),
            ("tensordot({0}, {1}, 1)", ((n, m), (m,))),
            ("concatenate([{0}, {1}])[-1] * {0}", ((n,), (m,))),
            ("squeeze({0}[:, None], 1)", ((n,),)),
            ("det({0})", (("spd", n, m),)),
            ("logdet({0})", (("spd", n, m),)),
        ]
        if n in self.sizes:
            ways += [
                ("diag({0})", ((n, n),)),
                ("diagonal({0})", ((n, n),)),
                ("solve({0}, {1})", (("spd", n), (n,))),
                ("inv({0}) @ {1}", (("spd", n), (n,))),
                ("{0} @ {0} @ {1}", ((n, n), (n,))),
                ("cholesky({0}) @ {1}", (("spd", n), (n,))),
                ('einsum("ii->i", {0})', ((n, n),)),
            ]
        return self.filled(self.rng.choice(ways), shape, depth)

    def from_matrix(self, shape: Shape, depth: int) -> Expr | None:
        if len(shape) != 2:
            return self.from_tensor(shape, depth)
        (n, m), p = shape, self.some_dim()
        ways: list[tuple[str, tuple[Shape, ...]]] = [
            ("{0} @ {1}", ((n, p), (p, m))),
            ("{0} @ {1}", ((n, p), (p, m))),
            ("{0} @ {1}.T", ((n, p), (m, p))),
            ("{0}.T", ((m, n),)),
            ("transpose({0})", ((m, n),)),
            ("outer({0}, {1})", ((n,), (m,))),
            ("{0}[:, None] * {1}", ((n,), (m,))),
            ("{0} + {1}[:, None]", ((n, m), (n,))),
            ('einsum("ik,kj->ij", {0}, {1})', ((n, p), (p, m))),
            ('einsum("ij,i,j->ij", {0}, {1}, {2})', ((n, m), (n,), (m,))),
            ('einsum("ijk,k->ij", {0}, {1})', ((n, m, p), (p,))),
            ("{0} @ {1} @ {2}", ((n, p), (p, p), (p, m))),
            ("tril({0})", ((n, m),)),
            ("triu({0}, 1)", ((n, m),)),
            ("cumsum({0}, axis=0)", ((n, m),)),
            ("flip({0}, axis=1)", ((n, m),)),
            ("tensordot({0}, {1}, 1)", ((n, p), (p, m))),
            ("expand_dims({0}, 1) * {1}", ((n,), (m,))),
            (f"broadcast_to({{0}}, ({n}, {m}))", ((m,),)),
            (f"reshape({{0}}, ({n}, {m}))", ((m, n),)),
            ("layer_norm({0}, {1}, {2}, 0.5)", ((n, m), (m,), (m,))),
            ("attention({0}, {1}, {2})", ((n, p), (p, p), (p, m))),
            ("{0} @ {1}", ((n, n), (n, m))),
            ('einsum("...ij,...jk->...ik", {0}, {1})', ((n, p), (p, m))),
        ]
        if n in self.sizes:
            ways.append(("solve({0}, {1})", (("spd", n), (n, m))))
        if m in self.sizes:
            batched = (("spd", n, m), (n, m))
            ways.append(("solve({0}, {1}[:, :, None])[:, :, 0]", batched))
            ways.append(('einsum("ijk,ik->ij", inv({0}), {1})', batched))
        if n == m and n in self.sizes:
            ways += [
                (f"{{0}} * eye({n})", ((n, n),)),
                (f"{{0}} + eye({n})", ((n, n),)),
                ("diag({0})", ((n,),)),
                ("inv({0})", (("spd", n),)),
                ("{0} @ {0}", ((n, n),)),
                ("cholesky({0})", (("spd", n),)),
            ] * 2
        return self.filled(self.rng.choice(ways), shape, depth)

    def from_tensor(self, shape: Shape, depth: int) -> Expr | None:
        (n, m, p), q = shape, self.some_dim()
        ways: list[tuple[str, tuple[Shape, ...]]] = [
            ("{0} @ {1}", ((n, m, q), (q, p))),
            ("{0} * {1}", ((n, m, p), (m, p))),
            ("{0}[:, :, None] * {1}", ((n, m), (p,))),
            ('einsum("i,j,k->ijk", {0}, {1}, {2})', ((n,), (m,), (p,))),
            ("{0} @ {1}", ((n, m, q), (n, q, p))),
            ("{0} @ {1}", ((m, q), (n, q, p))),
        ]
        if m in self.sizes:
            ways.append(("solve({0}, {1})", (("spd", n, m), (n, m, p))))
        if m == p and m in self.sizes:
            ways += [
                ("inv({0})", (("spd", n, m),)),
                ("cholesky({0})", (("spd", n, m),)),
            ]
        return self.filled(self.rng.choice(ways), shape, depth)

    def filled(
        self, way: tuple[str, tuple[Shape, ...]], shape: Shape, depth: int
    ) -> Expr | None:
        """A template with operands grown for it."""
        template, shapes = way
        args = tuple(
            (
                self.well_conditioned(*s[1:], depth=depth)
                if s[:1] == ("spd",)
                else self.grow(s, depth - 1)
            )
            for s in shapes
        )
        level = ATOM if template.endswith(")") and template[0] != "{" else MUL
        level = ADD if template.startswith("{0} + ") else level
        return Expr(template, args, shape, level, needs_of(template))

    def well_conditioned(self, *shape: str, depth: int) -> Expr:
        """A positive definite matrix, mostly symmetric, or a batch of such."""
        *batch, n = shape
        if batch:
            arg = self.grow((*batch, n, n), min(depth - 1, 1))
            return Expr(f"tanh({{0}}) + 5*eye({n})", (arg,), (*batch, n, n), ADD)
        own = [x for x in self.promises if self.names[x] == (n, n)]
        spd = [x for x in own if self.promises[x] == "spd"]
        if spd and self.rng.random() < 0.6:
            return Expr(self.rng.choice(spd), (), (n, n))
        arg = self.grow((n, n), min(depth - 1, 1))
        arg = Expr("tanh({0})", (arg,), (n, n))
        template = self.rng.choice(("{0} @ {0}.T + 3*eye(%s)", "{0} + 4*eye(%s)")) % n
        return Expr(template, (arg,), (n, n), ADD, (ATOM,))


def _gap(value: Array, axis: int) -> Array:
    """How far the largest entry along an axis is from the next."""
    if value.shape[axis] < 2:
        return np.full(1, np.inf)
    top = np.sort(value, axis=axis)
    return np.take(top, -1, axis=axis) - np.take(top, -2, axis=axis)
