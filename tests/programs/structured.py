"""Random functions whose derivatives have a structure, by seed.

Each is a sum of one to three terms of known structures: diagonal, blocks, Kronecker
products, low rank, bands and stencils, network layers, index arrays. Nothing here
knows of the compiler: a function is the text of a spec and its arguments.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Array = Any
Shape = tuple[str, ...]
ELEMENTWISE = (
    *("({})**2", "({})**3", "sin({})", "tanh({})", "log(1 + exp({}))"),
    *("sqrt(1 + ({})**2)", "exp(-({})**2)", "sigmoid({})"),
)


@dataclass(frozen=True)
class Term:
    """A scalar or an array expression; how many numbers its derivative may hold."""

    text: str
    entries: str = ""
    shape: str = ""


@dataclass(frozen=True)
class StructuredProgram:
    """A spec with one function f of x (and y), and arguments for it."""

    seed: int
    emit: tuple[Any, ...]
    terms: tuple[Term, ...]
    left: str
    wrt: tuple[str, ...]
    shapes: dict[str, Shape]
    indices: dict[str, str]
    sizes: dict[str, int]
    hints: str
    where: tuple[str, ...] = ()
    few_places: bool = False  # whether each place that is stored must be told

    @property
    def used(self) -> list[str]:
        """The inputs that the terms mention, and the variables."""
        text = " ".join((*self.where, *(term.text for term in self.terms)))
        words = "".join(c if c.isalnum() or c == "_" else " " for c in text).split()
        return [name for name in self.shapes if name in words or name in self.wrt]

    @property
    def text(self) -> str:
        """The spec."""
        lines = ["tensorgen: 1", "module: random"]
        if self.hints:
            hints = LARGE if self.hints == "large" else self.sizes
            own = {dim: size for dim, size in hints.items() if dim in self.sizes}
            sizes = ", ".join(f"{dim}: {max(k, 1)}" for dim, k in own.items())
            lines.append(f"dims: {{{sizes}}}")
        lines.append("inputs:")
        for name in self.used:
            shape = f"[{', '.join(self.shapes[name])}]"
            if name in self.indices:
                shape = f"{{shape: {shape}, index: {self.indices[name]}}}"
            lines.append(f"  {name}: {shape}")
        whole = " + ".join(term.text for term in self.terms)
        emit = ", ".join(map(str, self.emit))
        if self.where:
            whole = f"{whole}\n    where: |\n      " + "\n      ".join(self.where)
        wrt = f"[{', '.join(self.wrt)}]" if len(self.wrt) > 1 else self.wrt[0]
        lines += ["functions:", f"  {self.left}:", "    expr: |", f"      {whole}"]
        return "\n".join([*lines, f"    wrt: {wrt}", f"    emit: [{emit}]", ""])

    def arguments(self, variant: int = 0) -> dict[str, Array]:
        """Random arguments; index arrays are those of every variant."""
        numbers = np.random.default_rng([self.seed, variant])
        fixed = np.random.default_rng(self.seed)
        found: dict[str, Array] = {}
        for name in self.used:
            shape = [self.length(dim) for dim in self.shapes[name]]
            if name in self.indices:
                found[name] = fixed.integers(0, self.length(self.indices[name]), shape)
            else:
                found[name] = numbers.uniform(-1.2, 1.2, shape)
        return found

    def length(self, dim: str) -> int:
        """The number that a dim stands for."""
        return int(eval(dim, {}, dict(self.sizes)))

    def entries(self) -> int | None:
        """How many numbers the derivative may hold; None where that is not known.

        What is held depends on the hints; here the sizes are as those of LARGE.
        """
        if len(self.terms) > 1 or not self.terms[0].entries or self.hints != "large":
            return None
        return int(eval(self.terms[0].entries, {}, dict(self.sizes)))


VECTOR: Shape = ("n",)
MATRIX: Shape = ("m", "k")
TENSOR: Shape = ("a", "b", "c")
SHAPES: dict[str, Shape] = {
    "d": ("n",),
    "g": ("n",),
    "V": ("n", "r"),
    "w": ("r",),
    "A": ("p", "n"),
    "u": ("q",),
    "D": MATRIX,
    "L": ("p", "m"),
    "R": ("k", "q"),
    "S": ("m", "m"),
    "Q": ("k", "k"),
    "W": ("m", "q"),
    "Y": ("q", "k"),
    "B": ("k", "m"),
    "C": ("m", "k", "k"),
    "h": ("k",),
    "z": ("m",),
    "X": ("s", "k"),
    "E": TENSOR,
    "F": ("a", "a"),
    "G": ("b", "b"),
    "H": ("c", "c"),
    "weight": ("e",),
    "head": ("e",),
    "tail": ("e",),
    "row": ("e",),
    "near": ("e",),
    "corner": ("s", "p"),
    "col": ("e",),
    "beta": (),
}
LARGE = {"n": 10**5, "m": 10**4, "k": 5, "q": 500, "p": 4, "r": 4, "s": 100, "e": 10**6}
LARGE |= {"a": 100, "b": 80, "c": 60, "h": 10**5}
"""Hints for which every structure here is smaller than what it could be instead."""

INDICES = {"head": "n", "tail": "n", "row": "m", "near": "m", "corner": "m", "col": "q"}


class Maker:
    """Makes terms from a source of random choices."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def phi(self, argument: str) -> str:
        """A smooth function of each entry."""
        return self.rng.choice(ELEMENTWISE).format(argument)

    def either(self, *choices: str) -> str:
        """One of some texts."""
        return self.rng.choice(choices)


def _vector_terms(make: Maker) -> list[Callable[[], Term]]:
    phi, either = make.phi, make.either
    return [
        lambda: Term(f"sum({phi('x')})", "n"),
        lambda: Term(f"sum(d * {phi(either('x', 'g * x', 'x - g'))})", "n"),
        lambda: Term(f"sum({phi('d[i] * x[i]')} * x[i], i)", "n"),
        lambda: Term(f"sum(weight[t] * {phi('x[head[t]]')}, t)", "n"),
        lambda: Term("sum((x[1:] - x[:-1]**2)**2)", "3 * n"),
        lambda: Term(f"sum({phi('x[i + 1] - x[i]')}, i)", "3 * n"),
        lambda: Term(f"sum({phi('x[i + 2] - 2 * x[i + 1] + x[i]')}, i)", "5 * n"),
        lambda: Term("sum(x[i] * x[i + 1] * x[i + 2], i)", "4 * n"),
        lambda: Term(f"sum(d[i] * {phi('x[i + 1] - x[i - 1]')}, i)", "3 * n"),
        lambda: Term("norm(V.T @ x)**2", "n * r"),
        lambda: Term(f"sum(w * {phi('V.T @ x')})", "n * r + r"),
        lambda: Term(either("beta * logsumexp(x)", "log(sum(exp(x)))"), "n + 1"),
        lambda: Term(phi("d @ x"), "n + 1"),
        lambda: Term(f"sum({phi('A @ x')})", "n * p + p"),
        lambda: Term("x @ A.T @ A @ x", "n * p"),
        lambda: Term(f"sum(weight[t] * {phi('x[head[t]] - x[tail[t]]')}, t)"),
    ]


def _matrix_terms(make: Maker) -> list[Callable[[], Term]]:
    phi, either = make.phi, make.either
    residual = "sum(C[i, j, l] * x[i, l], l)"
    rated = "sum(x[row[t], l] * Y[col[t], l], l)"
    apart = "x[row[t], l] - x[near[t], l]"
    corners = "sum(L[v, corner[t, v]] * x[corner[t, v], l], v)"
    return [
        lambda: Term(f"sum({phi('x')} * D)", "m * k"),
        lambda: Term("norm(W - x @ R)**2", "k * k"),
        lambda: Term("sum(W * (1 - x @ Y.T)**2)", "m * k * k"),
        lambda: Term(f"sum(W * {phi('x @ Y.T')})", "m * k * k"),
        lambda: Term(f"sum({phi(residual)}, i, j)", "m * k * k"),
        lambda: Term("norm(L @ x @ R - 1)**2", "p * m + k * k"),
        lambda: Term("trace(x.T @ S @ x @ Q)", "2 * (m * m + k * k)"),
        lambda: Term("trace(x @ B @ x @ B)", "2 * k * m"),
        lambda: Term("norm(L @ x @ R)**2 + norm(x)**2", "p * m + k * k + 1"),
        lambda: Term("norm(L @ x)**2 + beta * norm(x @ R)**2", "p * m + k * k + 1"),
        lambda: Term("sum(x * (S @ S.T @ x)) + norm(x @ Q)**2", "m * m + k * k"),
        lambda: Term("sum(x)**2", "1"),
        lambda: Term(f"sum({phi('x @ h')})", "m + k"),
        lambda: Term(f"sum(z * {phi('x @ h')})", "m + k"),
        lambda: Term(f"sum({phi('x @ X.T')})"),
        lambda: Term(f"sum({phi(phi('X @ x.T') + ' @ z')})"),
        lambda: Term(f"sum({phi('L @ ' + either('tanh', 'sin') + '(x @ h)')})"),
        lambda: Term("sum(logsumexp(x, axis=1) * z)", "m * k + m"),
        lambda: Term("logsumexp(x)", "m * k + 1"),
        lambda: Term(f"sum({phi('x[i + 1, j] - x[i, j]')}, i, j)", "3 * m * k"),
        lambda: Term(
            "sum((x[i + 1, j] - x[i, j])**2, i, j)"
            f" + sum({phi('x[i, j + 1] - x[i, j]')}, i, j)"
        ),
        lambda: Term("norm(x[1:] - x[:-1] @ Q)**2", "m * k * k + 3 * k * k"),
        lambda: Term(f"sum((weight[t] - {rated})**2, t)", "m * k * k"),
        lambda: Term(f"sum(weight[t] * {phi(apart)}, t, l)"),
        lambda: Term(f"sum(weight[t] * {phi(f'sum(({apart})**2, l)')}, t)"),
        lambda: Term(f"sum({phi(corners)}, t, l)"),
        lambda: Term("sum(D * x)**2", "m * k + 1"),
        lambda: Term("norm(x.T @ x - Q)**2"),
    ]


def _tensor_terms(make: Maker) -> list[Callable[[], Term]]:
    phi = make.phi
    image = "sum(F[o, i] * G[v, j] * H[y, l] * x[i, j, l], i, j, l)"
    return [
        lambda: Term(f"sum({image}**2, o, v, y)", "a * a + b * b + c * c"),
        lambda: Term(f"sum(E * {phi('x')})", "a * b * c"),
        lambda: Term(
            "sum(sum(G[v, j] * H[y, l] * x[i, j, l], j, l)**2, i, v, y)",
            "b * b + c * c",
        ),
        lambda: Term("sum(sum(F[o, i] * x[i, j, l], i)**2, o, j, l)", "a * a"),
        lambda: Term(f"sum({phi('sum(H[y, l] * x[i, j, l], l)')}, i, j, y)"),
        lambda: Term(f"sum({phi('x[i, j, l] - x[i + 1, j, l]')}, i, j, l)"),
        lambda: Term("sum(E * x)**2", "a * b * c + 1"),
    ]


def _arrays(make: Maker) -> dict[Shape, list[Callable[[], Term]]]:
    """Terms whose values are arrays, for Jacobians; `shape` are their indices."""
    phi, either = make.phi, make.either
    vector = [
        lambda: Term(phi("x"), "n", "n"),
        lambda: Term(f"d * {phi('g * x')}", "n", "n"),
        lambda: Term(either("x[1:] - x[:-1]", "x[1:] * x[:-1]"), "2 * n", "n - 1"),
        lambda: Term("softmax(x)", "2 * n", "n"),
        lambda: Term(f"V @ {phi('V.T @ x')}", "2 * n * r + r", "n"),
        lambda: Term(phi("A @ x"), "p * n", "p"),
        lambda: Term(f"outer({phi('x')}, w)", "n + r", "n,r"),
        lambda: Term(f"d * {phi('g @ x')}", "3 * n", "n"),
    ]
    matrix = [
        lambda: Term(phi("x"), "m * k", "m,k"),
        lambda: Term("L @ x @ R", "p * m + k * q", "p,q"),
        lambda: Term(phi("x @ R"), "max((m + k) * q, (m + q) * k)", "m,q"),
        lambda: Term(f"x.T * ({phi('h')})[:, None]", "k", "k,m"),
        lambda: Term("softmax(x, axis=1)", "m * k + m", "m,k"),
        lambda: Term("x.T @ x", "2 * m * k", "k,k"),
        lambda: Term(phi("x @ h"), "m + k", "m"),
        lambda: Term("S @ x", "m * m", "m,k"),
        lambda: Term("S @ x @ Q", "m * m + k * k", "m,k"),
        lambda: Term(f"{phi('S @ x')} @ Q", "", "m,k"),
        lambda: Term("x[1:] - x[:-1]", "2", "m - 1,k"),
        lambda: Term(f"W.T @ {phi('x')}", "", "q,k"),
    ]
    return {VECTOR: vector, MATRIX: matrix}


COUPLINGS = (
    *("norm(W - x @ y.T)**2", "sum(W * sin(x @ y.T))", "sum(y * Y) * sum(x * D)"),
    *("sum(x) * sum(y**2)", "sum(x**2) + sum(y**4)", "norm(S @ x @ Y.T @ y)**2"),
    "sum((weight[t] - sum(x[row[t], l] * y[col[t], l], l))**2, t)",
)


def structured_program(seed: int) -> StructuredProgram:
    """Return the random function of a seed."""
    rng = random.Random(seed)
    make = Maker(rng)
    sizes = {dim: rng.choice((1, 2, 3, 4, 5)) for dim in "pqrsabce"}
    sizes |= {dim: rng.choice((3, 4, 5)) for dim in "nmk"}
    hints = rng.choice(("own", "own", "large", "large", ""))
    found = StructuredProgram(seed, (), (), "f", ("x",), SHAPES, INDICES, sizes, hints)
    roll = rng.random()
    if roll < 0.6:
        found = _hessian(found, make)
    elif roll < 0.75:
        found = _jacobian(found, make)
    elif roll < 0.9:
        found = _higher(found, make)
    else:
        found = _joint(found, make)
    return _with_empty_dims(found, rng)


def _scalar_terms(make: Maker, shape: Shape) -> list[Callable[[], Term]]:
    ways = {VECTOR: _vector_terms, MATRIX: _matrix_terms, TENSOR: _tensor_terms}
    return ways[shape](make)


def _pick(make: Maker, ways: list[Callable[[], Term]]) -> tuple[Term, ...]:
    count = make.rng.choice((1, 1, 1, 2, 2, 3))
    return tuple(way() for way in make.rng.sample(ways, min(count, len(ways))))


def _hessian(found: StructuredProgram, make: Maker) -> StructuredProgram:
    shape = make.rng.choice((VECTOR, VECTOR, MATRIX, MATRIX, TENSOR))
    terms = _pick(make, _scalar_terms(make, shape))
    emit = ("gradient", "hessian", "dense_hessian", "hvp")
    return replace(found, terms=terms, emit=emit, shapes={"x": shape, **SHAPES})


def _higher(found: StructuredProgram, make: Maker) -> StructuredProgram:
    # Fourth derivatives of matrices are large for finite differences.
    shape = make.rng.choice((VECTOR, VECTOR, MATRIX))
    terms = _pick(make, _scalar_terms(make, shape))[:2]
    terms = tuple(replace(term, entries="") for term in terms)
    few = shape == VECTOR and len(terms) == 1
    emit = ("dense_hessian", 3, 4) if few else ("dense_hessian", 3)
    small = {dim: min(size, 3) for dim, size in found.sizes.items()}
    return replace(
        found, terms=terms, emit=emit, shapes={"x": shape, **SHAPES}, sizes=small
    )


def _jacobian(found: StructuredProgram, make: Maker) -> StructuredProgram:
    shape = make.rng.choice((VECTOR, MATRIX))
    ways = [way() for way in _arrays(make)[shape]]
    first = make.rng.choice(ways)
    alike = [way for way in ways if way.shape == first.shape and way is not first]
    terms: tuple[Term, ...] = (first,)
    if alike and make.rng.random() < 0.4:
        terms = (first, make.rng.choice(alike))
    emit = ("jacobian", "dense_jacobian", "jvp")
    return replace(found, terms=terms, emit=emit, shapes={"x": shape, **SHAPES})


def _joint(found: StructuredProgram, make: Maker) -> StructuredProgram:
    terms = _pick(make, _matrix_terms(make))[:1]
    terms += (Term(make.rng.choice(COUPLINGS)), Term(f"sum({make.phi('y')})"))
    shapes = {"x": MATRIX, "y": ("q", "k"), **SHAPES}
    emit = ("gradient", "hessian", "dense_hessian")
    return replace(found, terms=terms, emit=emit, shapes=shapes, wrt=("x", "y"))


def _with_empty_dims(found: StructuredProgram, rng: random.Random) -> StructuredProgram:
    """The same with a dim of no or of one entry, now and then."""
    text = " ".join(term.text for term in found.terms)
    offsets = any(sign in text for sign in ("+ 1", "- 1", "[1:]", "+ 2"))
    if offsets or rng.random() < 0.8:
        return found
    dim = rng.choice("nmkprq")
    smallest = (
        1
        if any(word in text for word in ("logsumexp", "log(sum", "softmax", "["))
        else 0
    )
    return replace(found, sizes=found.sizes | {dim: rng.choice((smallest, 1))})
