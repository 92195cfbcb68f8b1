"""Specs that cover what modules for CuPy are made of, and arguments for them."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from tests import goldens
from tests.made import both

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
# All different, so that no axis is taken for another.
SIZES = {"m": 7, "n": 5, "k": 3, "p": 4, "q": 6, "r": 2, "e": 11, "c": 3}
SIZES |= {"S": 3, "d": 4, "h": 4, "s": 8, "E": 9, "N": 6, "T": 5, "b": 2, "o": 2}
SIZES |= {"nodes": 6, "fixed": 2}


@dataclass(frozen=True)
class Case:
    """A spec as text; dims that `sizes` leaves out are those of `SIZES`."""

    name: str
    text: str
    sizes: tuple[tuple[str, int], ...] = ()

    def sources(self) -> tuple[str, str]:
        """The generated sources, for NumPy and for CuPy."""
        return generated(self.text)

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

    @property
    def waits(self) -> bool:
        """Whether a value decides what is computed.

        The range of index arrays is checked; `expm` squares as often as it must;
        differences of lgamma are taken otherwise where arguments are not positive; what
        sizes choose among numbers, and is kept, is an array that has to be read.
        """
        waiting = r"expm\(|lgamma\(x \+ |where\(n > 3"
        return bool(self.index_arrays) or bool(re.search(waiting, self.text))

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
def generated(text: str) -> tuple[str, str]:
    """The modules that a spec becomes, each generated once and not laid out.

    Those of an example are golden files, held to what is generated elsewhere.
    """
    for path in EXAMPLES.glob("*.yaml"):
        if path.read_text(encoding="utf-8") == text:
            ours, theirs = (f"{path.stem}_{x}.py" for x in ("numpy", "cupy"))
            return goldens.text(ours), goldens.text(theirs)
    return both(text)


ALL = "value, gradient, hessian, hvp"
LOGISTIC = "sum(log(1 + exp(-y * (X @ w{})))) + {}"
RATINGS = "sum((val[t] - sum(U[row[t], j] * V[col[t], j], j))**2, t) + {}"


def _f(expr: str, wrt: str = "", emit: str = "", where: str = "") -> str:
    """A function of a spec, in one line."""
    parts = [f'expr: "{expr}"', f"wrt: {wrt}", f"emit: [{emit}]"]
    parts = parts[: 1 + bool(wrt) + bool(emit)]
    return "{" + ", ".join([f'where: "{where}"'] * bool(where) + parts) + "}"


def _spec(inputs: str, **functions: str) -> str:
    """A spec; a function's name says its indices after two underscores."""
    rows = [f"  {_indexed(name)}: {text}\n" for name, text in functions.items()]
    return f"tensorgen: 1\ninputs: {{{inputs}}}\nfunctions:\n" + "".join(rows)


def _indexed(name: str) -> str:
    name, _, indices = name.partition("__")
    return f"{name}[{indices}]" if indices else name


_POSITIVE = "{shape: [m], positive: true}"
_STEPS = r"y[0] = x\ny[t + 1] = tanh(A @ y[t] + z[t])"
_EMBEDDED = {
    "index arrays": _spec(
        "U: [m, k], V: [n, k], val: [e], "
        "row: {shape: [e], index: m}, col: {shape: [e], index: n}",
        u=_f(RATINGS.format("sum(U**2)"), "U", ALL),
        joint=_f(RATINGS.format("sum(U**2) + sum(V**2)"), "[U, V]"),
        sums__i=_f("U[i, 0] + sum(val[t], t, row[t] == i)"),
    ),
    "exponentials": _spec(
        "A: [n, n], T: [b, n, n], s: scalar",
        single=_f("sum(expm(10 * s * A)**2)", "A", "value, gradient, hvp"),
        batched=_f("expm(T) @ expm(-A)", "T", "value, jvp, vjp"),
    ),
    "slices": _spec(
        "x: [n], A: [m, n]",
        chain=_f("sum((x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)", "x", ALL),
        ends=_f("A[0] * x + A[:, -1][1] - x[::-1]", "x", "jacobian, dense_jacobian"),
        turned__i=_f("x[i] * x[n - 1 - i]", "x"),
    ),
    "convolution": _spec(
        "x: [n + k - 1], h: [k], y: [n]",
        c__i=_f("sum(x[i + j] * h[j], j)", "h", "value, jacobian, jvp, vjp"),
        fit=_f("sum((c - y)**2)", "h", ALL),
        deblur=_f("sum((c - y)**2)", "x", ALL),
    ),
    "diagonal": _spec(
        "x: [n], c: [n]",
        f=_f("sum(c * exp(x) + x**4)", "x", ALL),
    ),
    "blocks": _spec(
        "U: [m, k], V: [p, k], T: [m, p], O: {shape: [m, p], positive: true}",
        masked=_f("sum(O * (T - U @ V.T)**2)", "U", ALL),
        shared=_f("sum((T - U @ V.T)**2)", "U", ALL),
        turned=_f("sum(O * (T - U @ V.T)**2)", "V", ALL),
    ),
    "Kronecker product": _spec(
        "A: [q, n], X: [n, k], B: [k, m], C: [q, m]",
        f=_f("sum((A @ X @ B - C)**2)", "X", ALL),
    ),
    "low rank": _spec(
        f"x: [m], D: {_POSITIVE}, V: [m, r]",
        f=_f("sum(D * x**2) + sum((V.T @ x)**2)", "x", ALL),
        lse=_f("logsumexp(x)", "x", ALL),
    ),
    "bands": _spec(
        f"x: [m], D: {_POSITIVE}",
        f=_f("sum(D * exp(x)) + sum((x[2:] - 2 * x[1:-1] + x[:-2])**2)", "x", ALL),
    ),
    "Toeplitz": _spec(
        "x: [n]",
        f=_f("sum(exp(-(i - j)**2 / 2) * x[i] * x[j], i, j) + 8 * sum(x**2)", "x", ALL),
    ),
    "joint Hessian": _spec(
        "U: [m, k], V: [p, k], T: [m, p]",
        f=_f("sum((T - U @ V.T)**2) + sum(U**2) + sum(V**2)", "[U, V]", ALL),
    ),
    "problem": _spec(
        "w: [n], X: [m, n], y: [m], lam: {shape: scalar, default: 0.1}",
        loss=_f(LOGISTIC.format("", "lam * norm(w)**2"), "w", f"{ALL}, problem"),
    ),
    "problem of two inputs": _spec(
        "w: [n], b: [], X: [m, n], y: [m]",
        loss=_f(
            LOGISTIC.format(" + b", "sum(w**2) + b**2"), "[w, b]", f"{ALL}, problem"
        ),
    ),
    "maps of vectors": _spec(
        "x: [n], A: [m, n]",
        f=_f("tanh(A @ x)", "x", "value, jacobian, dense_jacobian, jvp, vjp"),
    ),
    "linear algebra": _spec(
        "S: {shape: [n, n], spd: true}, y: [n]",
        f=_f("logdet(S) + trace(inv(S)) + y @ solve(S, y)", "S", ALL),
        g=_f("det(S) * sum(inv(S)**2)", "S"),
    ),
    "reductions": _spec(
        "X: [m, n], z: [n]",
        peak=_f("sum(max(X, axis=1)) + sum(softmax(X, axis=0)**2)", "X"),
        spread=_f("var(z) + norm(z, 1) + norm(z) + sum(cumsum(z)**2)", "z", ALL),
        times=_f("prod(z) + mean(X) * sum(relu(z))", "z"),
    ),
    "special functions": _spec(
        f"x: {_POSITIVE}",
        f=_f("sum(erf(x) + lgamma(x + 1) + gelu(x) + log(2) * sqrt(x))", "x", ALL),
    ),
    "conditions of sizes": _spec(
        "x: [n], A: [n, n], z: [m]",
        f=_f("sum(where(n > 3, x, 2 * x)**3)", "x", ALL),
        run=_f("sum(y[1:]**2)", "A", "value, gradient, hvp", _STEPS),
    ),
    "numbers where arrays may stand": _spec(
        f"x: {_POSITIVE}, X: [m, 2]",
        power=_f("sum(x**m + 2**x + exprel(x))", "x", ALL),
        between=_f("sum(log_ndtr_diff(x, -1))", "x", ALL),
        # Of few columns, distances are made without products.
        near=_f(
            "sum(exp(-sum((X[i, a] - X[j, a])**2, a)), i, j)", "X", "value, gradient"
        ),
    ),
    "differences of lgamma": _spec(
        f"x: {_POSITIVE}", f=_f("sum(lgamma(x + 0.5) - lgamma(x))", "x", ALL)
    ),
    "third order": _spec(
        "x: [n], A: [n, n]",
        f=_f("sum(exp(A @ x))", "x", "value, gradient, 3"),
    ),
}

CASES = [
    *(Case(name, text) for name, text in _EMBEDDED.items()),
    *(
        Case(path.stem, path.read_text(encoding="utf-8"))
        for path in sorted(EXAMPLES.glob("*.yaml"))
        # Its energy is defined for meshes alone, and random corners make none.
        if path.stem != "mesh_energy"
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
