"""One identity of the Matrix Cookbook, as data that a test can generate and check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Formula = Callable[..., Any]  # of arrays, real or complex
Gives = Literal[
    "value", "gradient", "jacobian", "dense_hessian", "jvp", "symmetric gradient"
]

_KINDS = ("symmetric", "spd", "regular", "positive")
SIZES = {"n": 4, "m": 3, "p": 2, "q": 5}


@dataclass(frozen=True)
class Identity:
    """An equation: what is differentiated, by what, and the closed form.

    `inputs` declares the arguments in the order of both formulas, as
    "X: n m; A: m n spd". The word behind a shape says how to draw it: `spd` and
    `symmetric` are promises to the compiler too, `regular` is a square matrix far from
    singular, `positive` has entries above zero.

    `function` is a direct NumPy implementation of `expr` that also takes complex
    arguments where `analytic`; `closed` is the right-hand side of the equation. For a
    jvp it takes one direction `d<name>` for each name in `wrt` behind the inputs.
    `sizes` gives a size to each dim, also to one that is written as `2*m-1`.
    """

    number: str
    inputs: str
    expr: str
    wrt: str
    closed: Formula
    function: Formula
    gives: Gives = "gradient"
    where: str = ""
    left: str = "f"
    analytic: bool = True
    sizes: dict[str, int] = field(default_factory=lambda: SIZES)

    @property
    def declared(self) -> dict[str, tuple[list[str], str]]:
        """The dims of each input, and the word behind them."""
        return declared(self.inputs)

    @property
    def variables(self) -> list[str]:
        """The names in `wrt`."""
        return self.wrt.replace(",", " ").split()

    def spec(self) -> str:
        """Return the text of a spec with the one function f."""
        used = {dim for dims, _ in self.declared.values() for dim in dims}
        dims = [
            f"{dim}: {size}"
            for dim, size in self.sizes.items()
            if dim in used and dim.isidentifier()
        ]
        lines = ["tensorgen: 1", "backends: [numpy]", f"dims: {{{', '.join(dims)}}}"]
        lines.append("inputs:")
        for name, (shape, kind) in self.declared.items():
            listed = f"[{', '.join(shape)}]"
            if kind in ("spd", "symmetric"):
                listed = f"{{shape: {listed}, {kind}: true}}"
            lines.append(f"  {name}: {listed}")
        lines += ["functions:", f"  {self.left}:"]
        if self.where:
            lines.append("    where: |")
            lines += ["      " + line.strip() for line in self.where.splitlines()]
        lines += ["    expr: |", f"      {self.expr}"]
        emit = {"symmetric gradient": "gradient"}.get(self.gives, self.gives)
        if self.wrt:
            names = ", ".join(self.variables)
            wrt = f"{{{self.wrt}: symmetric}}" if "symm" in self.gives else f"[{names}]"
            lines.append(f"    wrt: {wrt}")
            both = ["value"] if emit == "value" else ["value", emit]
            lines.append(f"    emit: [{', '.join(both)}]")
        return "\n".join(lines) + "\n"

    def draw(self, rng: np.random.Generator) -> dict[str, Array]:
        """Return random, well-conditioned arguments."""
        return {
            name: _drawn(rng, [self.sizes[dim] for dim in dims], kind)
            for name, (dims, kind) in self.declared.items()
        }

    def directions(self, rng: np.random.Generator) -> dict[str, Array]:
        """Return a random direction for each variable."""
        shapes = {name: dims for name, (dims, _) in self.declared.items()}
        return {
            f"d{name}": rng.standard_normal([self.sizes[dim] for dim in shapes[name]])
            for name in self.variables
        }


def declared(inputs: str) -> dict[str, tuple[list[str], str]]:
    """Return the dims of each input that a text declares, and the word behind them."""
    found = {}
    for declaration in inputs.split(";"):
        name, _, words = declaration.partition(":")
        parts = words.split()
        kind = parts.pop() if parts and parts[-1] in _KINDS else ""
        found[name.strip()] = (parts, kind)
    return found


def _drawn(rng: np.random.Generator, shape: list[int], kind: str) -> Array:
    x = np.asarray(rng.standard_normal(shape))
    match kind:
        case "":
            return x
        case "symmetric":
            return x + x.T
        case "spd":
            return x @ x.T / len(x) + np.eye(len(x))
        case "regular":
            # Singular values between about 1 and 3: the closed forms keep 1e-9.
            return 0.4 * x + 2 * np.eye(len(x))
        case "positive":
            return np.abs(x) + 0.5
    raise ValueError(f"no way to draw {kind!r}")
