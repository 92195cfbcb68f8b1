"""Specs that cover what modules for CuPy are made of, and arguments for them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

import tensorgen

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
# All different, so that no axis is taken for another.
SIZES = {"m": 7, "n": 5, "k": 3, "p": 4, "q": 6, "r": 2, "e": 11, "c": 3, "h": 4, "s": 8}


@dataclass(frozen=True)
class Case:
    """A spec as text; dims that `sizes` leaves out are those of `SIZES`."""

    name: str
    text: str
    sizes: tuple[tuple[str, int], ...] = ()

    def sources(self) -> tuple[str, str]:
        """The generated sources, for NumPy and for CuPy."""
        return generated(self.text, "numpy"), generated(self.text, "cupy")

    @property
    def inputs(self) -> dict[str, dict[str, Any]]:
        """The inputs of the spec, each as a mapping with its shape."""
        given = yaml.safe_load(self.text)["inputs"]
        return {
            name: value if isinstance(value, dict) else {"shape": value}
            for name, value in given.items()
        }

    @property
    def index_arrays(self) -> list[str]:
        """The inputs that are index arrays."""
        return [name for name, given in self.inputs.items() if "index" in given]

    def arguments(self, dtype: str = "float64") -> dict[str, Any]:
        """Arrays and numbers for all inputs, the same each time."""
        rng = np.random.default_rng(len(self.name))
        sizes = SIZES | dict(self.sizes)
        return {
            name: _argument(rng, given, sizes, dtype)
            for name, given in self.inputs.items()
        }


def _argument(
    rng: np.random.Generator, given: dict[str, Any], sizes: dict[str, int], dtype: str
) -> Any:
    dims = given["shape"]
    if dims == "scalar":
        return 0.3
    # Affine sizes such as `n + k - 1`, of specs that stand in this repository.
    shape = tuple(eval(str(dim), {}, dict(sizes)) for dim in dims)
    if "index" in given:
        return rng.integers(0, eval(str(given["index"]), {}, dict(sizes)), shape)
    array = rng.uniform(-1, 1, shape)
    if given.get("spd"):
        array = array @ array.T + np.eye(len(array))
    elif given.get("symmetric"):
        array = array + array.T
    elif given.get("positive"):
        array = abs(array) + 0.1
    return array.astype(dtype)


@functools.cache
def generated(text: str, backend: str) -> str:
    """The module that a spec becomes, each generated once."""
    return tensorgen.generate(text, backend=backend)


def _spec(inputs: str, functions: str) -> str:
    rows = "".join(f"  {row.strip()}\n" for row in functions.strip().split("\n"))
    return f"tensorgen: 1\ninputs: {{{inputs}}}\nfunctions:\n{rows}"


_ALL = "emit: [value, gradient, hessian, hvp]"

_EMBEDDED = {
    "index arrays": _spec(
        "U: [m, k], V: [n, k], val: [e], "
        "row: {shape: [e], index: m}, col: {shape: [e], index: n}",
        """
        u: {expr: "sum((val[t] - sum(U[row[t], j] * V[col[t], j], j))**2, t) + sum(U**2)", wrt: U, EMIT}
        joint: {expr: "sum((val[t] - sum(U[row[t], j] * V[col[t], j], j))**2, t) + sum(U**2) + sum(V**2)", wrt: [U, V]}
        sums[i]: "sum(val[t], t, row[t] == i)"
        """,
    ),
    "slices": _spec(
        "x: [n], A: [m, n]",
        """
        chain: {expr: "sum((x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)", wrt: x, EMIT}
        ends: {expr: "A[0] * x + A[:, -1][1] - x[::-1]", wrt: x, emit: [value, jacobian, dense_jacobian]}
        turned[i]: {expr: "x[i] * x[n - 1 - i]", wrt: x}
        """,
    ),
    "convolution": _spec(
        "x: [n + k - 1], h: [k], y: [n]",
        """
        c[i]: {expr: "sum(x[i + j] * h[j], j)", wrt: h, emit: [value, jacobian, jvp, vjp]}
        fit: {expr: "sum((c - y)**2)", wrt: h, EMIT}
        deblur: {expr: "sum((c - y)**2)", wrt: x, EMIT}
        """,
    ),
    "diagonal": _spec(
        "x: [n], c: [n]",
        'f: {expr: "sum(c * exp(x) + x**4)", wrt: x, EMIT}',
    ),
    "blocks": _spec(
        "U: [m, k], V: [p, k], T: [m, p], O: {shape: [m, p], positive: true}",
        """
        masked: {expr: "sum(O * (T - U @ V.T)**2)", wrt: U, EMIT}
        shared: {expr: "sum((T - U @ V.T)**2)", wrt: U, EMIT}
        turned: {expr: "sum(O * (T - U @ V.T)**2)", wrt: V, EMIT}
        """,
    ),
    "Kronecker product": _spec(
        "A: [q, n], X: [n, k], B: [k, m], C: [q, m]",
        'f: {expr: "sum((A @ X @ B - C)**2)", wrt: X, EMIT}',
    ),
    "low rank": _spec(
        "x: [m], D: {shape: [m], positive: true}, V: [m, r]",
        """
        f: {expr: "sum(D * x**2) + sum((V.T @ x)**2)", wrt: x, EMIT}
        lse: {expr: "logsumexp(x)", wrt: x, EMIT}
        """,
    ),
    "bands of three": _spec(
        "x: [m], D: {shape: [m], positive: true}",
        'f: {expr: "sum(D * exp(x)) + sum((x[2:] - 2 * x[1:-1] + x[:-2])**2)", wrt: x, EMIT}',
    ),
    "joint Hessian": _spec(
        "U: [m, k], V: [p, k], T: [m, p]",
        'f: {expr: "sum((T - U @ V.T)**2) + sum(U**2) + sum(V**2)", wrt: [U, V], EMIT}',
    ),
    "problem": _spec(
        "w: [n], X: [m, n], y: [m], lam: {shape: scalar, default: 0.1}",
        """
        loss: {expr: "sum(log(1 + exp(-y * (X @ w)))) + lam * norm(w)**2", wrt: w, emit: [value, gradient, hessian, hvp, problem]}
        """,
    ),
    "problem of two inputs": _spec(
        "w: [n], b: [], X: [m, n], y: [m]",
        """
        loss: {expr: "sum(log(1 + exp(-y * (X @ w + b)))) + norm(w)**2 + b**2", wrt: [w, b], emit: [value, gradient, hessian, hvp, problem]}
        """,
    ),
    "maps of vectors": _spec(
        "x: [n], A: [m, n]",
        'f: {expr: "tanh(A @ x)", wrt: x, emit: [value, jacobian, dense_jacobian, jvp, vjp]}',
    ),
    "linear algebra": _spec(
        "S: {shape: [n, n], spd: true}, y: [n]",
        """
        f: {expr: "logdet(S) + trace(inv(S)) + y @ solve(S, y)", wrt: S, EMIT}
        g: {expr: "det(S) * sum(inv(S)**2)", wrt: S}
        """,
    ),
    "reductions": _spec(
        "X: [m, n], z: [n]",
        """
        peak: {expr: "sum(max(X, axis=1)) + sum(softmax(X, axis=0)**2)", wrt: X}
        spread: {expr: "var(z) + norm(z, 1) + norm(z) + sum(cumsum(z)**2)", wrt: z, EMIT}
        times: {expr: "prod(z) + mean(X) * sum(relu(z))", wrt: z}
        """,
    ),
    "special functions": _spec(
        "x: {shape: [n], positive: true}",
        'f: {expr: "sum(erf(x) + lgamma(x + 1) + gelu(x) + log(2) * sqrt(x))", wrt: x, EMIT}',
    ),
    "third order": _spec(
        "x: [n], A: [n, n]",
        'f: {expr: "sum(exp(A @ x))", wrt: x, emit: [value, gradient, 3]}',
    ),
}

CASES = [
    *(
        Case(name, text.replace("EMIT", _ALL))
        for name, text in _EMBEDDED.items()
    ),
    *(
        Case(path.stem, path.read_text(encoding="utf-8"))
        for path in sorted(EXAMPLES.glob("*.yaml"))
    ),
]
NAMED = {case.name: case for case in CASES}

# NumPy's own results are defined where a size is 0, or 1.
EDGES = [
    Case(f"{name}, {dim} = {size}", NAMED[name].text, ((dim, size),))
    for name, dim in [
        ("problem", "m"),
        ("blocks", "m"),
        ("blocks", "p"),
        ("diagonal", "n"),
        ("Kronecker product", "k"),
        ("index arrays", "e"),
        ("maps of vectors", "n"),
        ("joint Hessian", "m"),
    ]
    for size in (0, 1)
]
