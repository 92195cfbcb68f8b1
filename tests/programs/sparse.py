"""Random functions of parts of a variable, by seed: few entries of a derivative exist.

Slices, strides, stacks, reshapes, index arrays, several terms over one pair of indices,
products of banded matrices. Their derivative objects must hold no more places than
differ from zero somewhere, which `check_structured.py` sees at sizes of about ten.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.programs.structured import Maker, Shape, StructuredProgram, Term

FULL, HALF, SHORT, LESS, LINKS = "2*h", "h", "2*h - 1", "h - 1", "e"
LENGTHS = (FULL, FULL, HALF, HALF, SHORT, LESS, LINKS)
SHAPES: dict[str, Shape] = {
    "d": (FULL,),
    "g": (FULL,),
    "w": (HALF,),
    "u": (HALF,),
    "near": (SHORT,),
    "far": (LESS,),
    "weight": (LINKS,),
    "D": (FULL, "k"),
    "C": (HALF, "k"),
    "v": ("k",),
    "Q": ("k", "k"),
    "head": (LINKS,),
    "tail": (LINKS,),
    "pick": (HALF,),
}
INDICES = {"head": FULL, "tail": FULL, "pick": FULL}
WEIGHTS = {FULL: ("d", "g"), HALF: ("w", "u"), SHORT: ("near",), LESS: ("far",)}
WEIGHTS[LINKS] = ("weight",)
BANDS = (
    *("A[i, j] = d[i] * delta(i, j) + g[j] * delta(i + 1, j)",),
    *("A[i, j] = d[i] * delta(i, j) + g[j] * delta(i, j + 2)",),
    *("A = diag(d) + diag(near, 1) - diag(near, -1)",),
    *("A = diag(d) - diag(near, 1)",),
)


class Parts(Maker):
    """Makes vectors and matrices of which each entry comes from few of `x`."""

    def vector(self, length: str, depth: int) -> str:
        """A vector of a length, as an atom or in parentheses."""
        if depth and self.rng.random() < 0.6:
            return self._combined(length, depth)
        if length == FULL:
            return self._full(depth)
        if length == HALF:
            return self._half(depth)
        if length == LINKS:
            name = self.either("head", "tail")
            return f"{self._base(depth)}[{name}]"
        whole = self._base(depth) if length == SHORT else self._half(depth)
        return f"{whole}{self.either('[1:]', '[:-1]')}"

    def _base(self, depth: int) -> str:
        """The variable, or what is made of it."""
        return self._full(depth - 1) if depth and self.rng.random() < 0.4 else "x"

    def _combined(self, length: str, depth: int) -> str:
        one = self.vector(length, depth - 1)
        other = self.vector(length, depth - 1)
        weight = self.rng.choice(WEIGHTS[length])
        return self.either(
            self.phi(one) if self.rng.random() < 0.8 else one,
            f"({weight} * {one})",
            f"({one} - {weight} * {other})",
            f"({one} * {other})",
        )

    def _full(self, depth: int) -> str:
        if not depth:
            return self.either("x", "x", "flip(x)", "roll(x, 1)")
        one, other = (self.vector(HALF, depth - 1) for _ in range(2))
        return self.either(
            "x",
            f"concatenate([{one}, {other}])",
            f"ravel(stack([{one}, {other}]))",
            f"ravel(stack([{one}, {other}], axis=1))",
            f"ravel(reshape({self._base(depth)}, (h, 2)).T)",
            f"ravel(outer({one}, [1, 2]))",
        )

    def _half(self, depth: int) -> str:
        x = self._base(depth)
        return self.either(
            *(f"{x}[::2]", f"{x}[1::2]", f"{x}[:h]", f"{x}[h:]", f"{x}[pick]"),
            *(f"reshape({x}, (h, 2))[:, 1]", f"reshape({x}, (2, h))[0]"),
            f"sum(reshape({x}, (h, 2)), axis=1)",
        )

    def matrix(self, rows: str, depth: int) -> str:
        """A matrix of k columns."""
        if depth and self.rng.random() < 0.6:
            one, other = (self.matrix(rows, depth - 1) for _ in range(2))
            weight = "D" if rows == FULL else "C"
            return self.either(
                self.phi(one),
                f"({weight} * {one})",
                f"({one} - {weight} * {other})",
                f"({one} * {other})",
                f"({one} @ Q)",
            )
        if rows == FULL:
            one, other = (self.matrix(HALF, max(depth - 1, 0)) for _ in range(2))
            return self.either("x", "x", f"concatenate([{one}, {other}])", "flip(x, 0)")
        return self.either(
            "x[::2]", "x[1::2]", "x[:h]", "x[h:]", "x[pick]", "reshape(x, (2, h, k))[1]"
        )


def _vector_terms(make: Parts) -> list[Callable[[], str]]:
    phi, either, vector = make.phi, make.either, make.vector

    def length() -> str:
        return make.rng.choice(LENGTHS)

    def weighted() -> str:
        own = length()
        return f"sum({make.rng.choice(WEIGHTS[own])} * {phi(vector(own, 2))})"

    def multiplied() -> str:
        own = length()
        return f"sum({vector(own, 1)} * {phi(vector(own, 2))})"

    def one_pair() -> str:
        own, other = make.rng.sample(("x[i + 1]", "x[i]", "x[2*i]", "x[2*i + 1]"), 2)
        first, second = phi(f"{own} * {other}"), phi(f"{own} - {other}")
        return f"sum(w[i] * {first} + u[i] * {second} + {own} * {other}**2, i=range(h))"

    return [
        lambda: f"sum({phi(vector(length(), 2))})",
        weighted,
        multiplied,
        one_pair,
        lambda: f"norm({vector(length(), 2)})**2",
        lambda: f"sum(x[2*i] * {phi('x[2*i + 1]')} + w[i] * x[2*i] * x[2*i + 1], i)",
        lambda: f"sum({phi('x[i] * x[i + h]')}, i=range(h))",
        lambda: f"sum({phi('x[2*h - 1 - i] - g[i] * x[i]')}, i)",
        lambda: f"sum(weight[t] * {phi('x[head[t]] * x[tail[t]]')}, t)",
        lambda: f"sum(stack([{vector(HALF, 1)}, {vector(HALF, 1)}])**2)",
        lambda: f"x @ {either('A', 'A.T @ A', 'A @ A', '(A * A)', '(A * A.T)')} @ x",
        lambda: f"sum({phi(either('A @ x', 'A @ (A @ x)', 'A.T @ x'))})",
    ]


def _matrix_terms(make: Parts) -> list[Callable[[], str]]:
    phi, either, matrix = make.phi, make.either, make.matrix
    return [
        lambda: f"sum({phi(matrix(FULL, 2))})",
        lambda: f"sum(C * {phi(matrix(HALF, 2))})",
        lambda: f"sum({matrix(HALF, 1)} * {phi(matrix(HALF, 1))})",
        lambda: f"sum({phi(f'{matrix(HALF, 1)} @ v')})",
        lambda: f"sum(d * {phi('x @ v')})",
        lambda: f"sum({phi('x[2*i, l] - x[2*i + 1, l]')}, i, l)",
        lambda: f"sum({phi('x[i + 1, l] * x[i, l]')}, i, l)",
        lambda: f"sum(weight[t] * {phi('x[head[t], l] - x[tail[t], l]')}, t, l)",
        lambda: f"sum({phi('reshape(x, (h, 2*k))')})",
        lambda: f"sum({phi('ravel(x)[1:] - ravel(x)[:-1]')})",
        lambda: f"sum((A @ x)**2) + {either('sum(x**3)', 'sum(A * A) * sum(x**2)')}",
        lambda: f"norm(x[1:] - x[:-1] @ Q)**2 + sum({phi('x[0]')})",
    ]


def sparse_program(seed: int) -> StructuredProgram:
    """Return the random function of a seed."""
    rng = random.Random(f"sparse {seed}")
    make = Parts(rng)
    is_vector, is_jacobian = rng.random() < 0.7, rng.random() < 0.25
    sizes = {"h": rng.choice((4, 5, 6)), "e": rng.choice((3, 8, 12))}
    sizes["k"] = rng.choice((2, 3))
    emit: tuple[Any, ...] = ("gradient", "hessian", "dense_hessian", "hvp")
    if is_jacobian:
        emit = ("jacobian", "dense_jacobian", "jvp")
        length = rng.choice(LENGTHS[:4])
        part = make.vector if is_vector else make.matrix
        count = rng.choice((1, 1, 2))
        terms = tuple(Term(part(length, 2)) for _ in range(count))
    else:
        ways = (_vector_terms if is_vector else _matrix_terms)(make)
        count = rng.choice((1, 1, 2, 3))
        terms = tuple(Term(way()) for way in rng.sample(ways, count))
    text = " ".join(term.text for term in terms)
    shapes = {"x": (FULL,) if is_vector else (FULL, "k"), **SHAPES}
    where = (rng.choice(BANDS),) if "A" in text else ()
    return StructuredProgram(
        seed,
        emit,
        terms,
        "f",
        ("x",),
        shapes,
        INDICES,
        sizes,
        "large",
        where,
        few_places=True,
    )


GAPS = {
    # The stride of a part is a dim: (m, k) is raveled, and a slice crosses its rows.
    "sum(sin(ravel(x)[1:] - ravel(x)[:-1]))": "x: [2*h, k]",
    # Entries of an index array that stand two to an entry: 2*i + c == pick[k].
    "sum(ravel(outer(x[::2], [1, 2]))[pick]**3)": "x: [2*h]",
    # The same window of one link is an array over it and the rows of a stack.
    "sum(ravel(stack([x[pick], x[pick]]))[1::2]**3)": "x: [2*h]",
    # A number a column is a sum of deltas, which stays between two reshapes.
    "sum(flip(x) * sin(ravel(outer(x[::2], [1, 2]))))": "x: [2*h]",
}
"""The smallest programs known to store more places than they must, and the variable."""


def gap(text: str) -> StructuredProgram:
    """Return the program of a gap."""
    found = sparse_program(0)
    shape = (FULL, "k") if "k" in GAPS[text] else (FULL,)
    emit = ("gradient", "hessian", "dense_hessian", "hvp")
    return replace(
        found,
        terms=(Term(text),),
        where=(),
        emit=emit,
        shapes={"x": shape, **SHAPES},
        sizes={"h": 5, "e": 12, "k": 2},
    )
