"""Random sums with low rank whose base nearly vanishes, against dense ones.

Some entries of the base are small, or all: from 1 to 1e-14, beside columns of any
length. The truth is of the dense matrix in sixty digits. What may be missed grows with
the condition number of the sum once it is scaled to a diagonal of ones, and with
nothing else: how singular the base is does not matter.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import mpmath as mp
import numpy as np

from tensorgen import load
from tests.extremes.judge import Fault

SCALES = 10.0 ** -np.arange(0, 15, 2)
HALF = 1e-7
"""What is left at the point where parts give way, and of it the rest of a gradient."""

EPSILON = 2.0**-52
BASES = {
    "diag(exp(t))": "t",
    "diag(d)": "d",
    "s*eye(n)": "s",
}
ADDED = {
    "L @ L.T": ("L",),
    "outer(u, u)": ("u",),
    "L @ C @ L.T": ("L",),
    "L @ L.T + outer(u, u)": ("L", "u"),
}
FUNCTIONS = ("logdet(S)", "y @ solve(S, y)", "trace(inv(S) @ Q)")

INPUTS = """\
  L: [n, k]
  u: [n]
  t: [n]
  d: {shape: [n], positive: true}
  s: {shape: [], positive: true}
  C: {shape: [k, k], spd: true}
  Q: {shape: [n, n], symmetric: true}
  y: [n]
"""


def specification(base: str, added: str, terms: tuple[str, ...]) -> str:
    """The spec of one function."""
    wrt = ", ".join((BASES[base], *ADDED[added]))
    return (
        f"tensorgen: 1\nmodule: low\ndims: {{n: 60, k: 2}}\ninputs:\n{INPUTS}"
        f"functions:\n  f:\n    where: S = {base} + {added}\n"
        f"    expr: {' + '.join(terms)}\n    wrt: [{wrt}]\n"
        "    emit: [value, gradient]\n"
    )


def faults(seed: int) -> Iterator[Fault]:
    """What a random function gets wrong at all scales."""
    pick, numbers = random.Random(seed), np.random.default_rng(seed)
    base, added = pick.choice([*BASES]), pick.choice([*ADDED])
    terms = tuple(x for x in FUNCTIONS if pick.random() < 0.6) or FUNCTIONS[:1]
    module: Any = load(specification(base, added, terms))
    n, k = pick.randint(5, 12), pick.choice([1, 2])
    count = n if base == "s*eye(n)" else pick.randint(1, k)
    factor, core = numbers.standard_normal((n, n)), numbers.standard_normal((k, k))
    given: dict[str, Any] = {
        "L": numbers.standard_normal((n, k)) * 10.0 ** pick.randint(-2, 2),
        "u": numbers.standard_normal(n),
        "C": core @ core.T + np.eye(k),
        "Q": factor + factor.T,
        "y": numbers.standard_normal(n),
    }
    for scale in SCALES:
        diagonal = np.ones(n)
        diagonal[:count] = scale
        own = {"t": np.log(diagonal), "d": diagonal, "s": np.array(scale)}
        at = given | {x: own[x] for x in own if x == BASES[base]}
        text = f"{base} + {added}, {' + '.join(terms)}"
        words = {*text.replace(".T", "").translate(_CUT).split()}
        value, gradient = module.f_value_and_grad(
            **{x: at[x] for x in at if x in words}
        )
        exact, allowed = truth(base, added, terms, at)
        found = {"f": value, **gradient._asdict()}
        for name, right in exact.items():
            off = np.abs(found[name] - right).max() / (np.abs(right).max() + 1e-300)
            if not off < allowed:
                yield Fault(scale, f"{name} is wrong", f"{text}: off by {off:.0e}")


_CUT = str.maketrans(dict.fromkeys("()[]@,+*:=\n", " "))


def truth(
    base: str, added: str, terms: tuple[str, ...], at: dict[str, Any]
) -> tuple[dict[str, Any], float]:
    """Value and gradient in sixty digits, and what of them may be missed."""
    with mp.workdps(60):
        exact = {x: mp.matrix(np.asarray(v).tolist()) for x, v in at.items() if v.ndim}
        n = len(at["y"])
        parameter = BASES[base]
        entries = {
            "t": lambda: [mp.exp(x) for x in exact["t"]],
            "d": lambda: list(exact["d"]),
            "s": lambda: [mp.mpf(float(at["s"]))] * n,
        }[parameter]()
        S, core = mp.diag(entries), mp.eye(at["L"].shape[1])
        if "C" in added:
            core = exact["C"]
        if "L" in added:
            S += exact["L"] * core * exact["L"].T
        if "u" in added:
            S += exact["u"] * exact["u"].T
        inverse, y = S**-1, exact["y"]
        value, slope = mp.mpf(0), mp.zeros(n)
        if "logdet(S)" in terms:
            value, slope = value + mp.log(mp.det(S)), slope + inverse
        for text, right in zip(FUNCTIONS[1:], (y * y.T, exact["Q"]), strict=True):
            if text in terms:
                solved = inverse * right
                value += sum(solved[i, i] for i in range(n))
                slope -= solved * inverse
        diagonal = [slope[i, i] for i in range(n)]
        found: dict[str, Any] = {"f": value}
        if parameter == "s":
            found["s"] = sum(diagonal)
        else:
            weights = entries if parameter == "t" else [1] * n
            found[parameter] = [a * b for a, b in zip(weights, diagonal, strict=True)]
        if "L" in added:
            found["L"] = (2 * slope * exact["L"] * core).tolist()
        if "u" in added:
            found["u"] = [row[0] for row in (2 * slope * exact["u"]).tolist()]
        dense = np.array(S.tolist(), dtype=float)
    roots = np.sqrt(np.diagonal(dense))
    condition = np.linalg.cond(dense / np.outer(roots, roots))
    spread = (roots.max() / roots.min()) ** 2
    allowed = HALF + 1e3 * EPSILON * float(condition) ** 2 * float(spread)
    return {x: np.array(v, dtype=float) for x, v in found.items()}, allowed
