"""Set C: a network of ten layers, and the Hessian of its first one."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from by_hand.first_layers import HANDS
from cases import Case, Contender, Data, Set, Task
from numpy.random import Generator
from peers import derived, ours

Array = Any
LAYERS = 10
SIZES = (10, 20, 50, 100)
WEIGHTS = tuple(f"W{k}" for k in range(1, LAYERS + 1))


def spec(n: int, samples: int, activation: str) -> str:
    """Return the spec of the cross-entropy of a softmax after equal layers."""
    shape = "[n]" if samples == 1 else "[n, s]"
    weights = ", ".join(f"{w}: [n, n]" for w in WEIGHTS)
    hidden = [f"h{k} = {activation}(W{k} @ h{k - 1})" for k in range(1, LAYERS)]
    lines = "\n      ".join(["h0 = 1*X", *hidden, f"z = W{LAYERS} @ h{LAYERS - 1}"])
    axis = "" if samples == 1 else ", axis=0"
    return f"""
tensorgen: 1
module: network
dims: {{n: {n}, s: {samples}}}
inputs: {{{weights}, X: {shape}, Y: {shape}}}
functions:
  f:
    where: |
      {lines}
    expr: sum(logsumexp(z{axis})) - sum(Y * z)
    wrt: W1
    emit: [hessian]
""".replace(", s: 1}", "}")


def loss(activation: str, xp: Any, **data: Array) -> Any:
    """The same in a library's spelling."""
    h, function = data["X"], getattr(xp, activation)
    for name in WEIGHTS[:-1]:
        h = function(data[name] @ h)
    z = data[WEIGHTS[-1]] @ h
    return xp.sum(xp.logsumexp(z, 0)) - xp.sum(data["Y"] * z)


def positional(activation: str) -> Any:
    """A loss that says its arguments in order, for those who differentiate by place."""
    names = ", ".join([*WEIGHTS, "X", "Y"])
    keywords = ", ".join(f"{n}={n}" for n in [*WEIGHTS, "X", "Y"])
    return eval(
        f"lambda xp, {names}: loss(xp, {keywords})", {"loss": partial(loss, activation)}
    )


def data(n: int, samples: int, rng: Generator) -> Data:
    """Weights that keep the size of what passes through, and labels by chance."""
    made = {w: rng.normal(size=(n, n)) * np.sqrt(2 / n) for w in WEIGHTS}
    X = rng.normal(size=(n, samples))
    Y = np.eye(n)[:, rng.integers(0, n, samples)]
    if samples == 1:
        X, Y = X[:, 0], Y[:, 0]
    return made | {"X": X, "Y": Y}


def _by_hand(activation: str, samples: int, data: Data) -> Task:
    weights = {w: data[w] for w in WEIGHTS}
    # Inputs are rows there.
    x, y = (np.ascontiguousarray(data[name].T) for name in ("X", "Y"))
    return lambda: HANDS[activation, samples](x, y, **weights)


def _times(n: int, found: Any) -> list[Array]:
    """What a Hessian in any form makes of one direction."""
    v = np.random.default_rng(1).normal(size=(n, n))
    if isinstance(found, tuple):
        K, X = found[0].reshape(-1, n, n), found[1].reshape(-1, n).T
        return [np.einsum("sik,ks,js->ij", K, v @ X, X)]
    if hasattr(found, "matvec"):
        return [np.reshape(found @ v, (n, n))]
    return [(np.asarray(found).reshape(n * n, n * n) @ v.ravel()).reshape(n, n)]


def _case(activation: str, samples: int, n: int) -> Case:
    result = partial(_times, n)
    peers = [
        Contender(c.name, c.make, c.libraries, result)
        for c in derived(positional(activation), "Hessian")
    ]
    inputs = "one input" if samples == 1 else f"{samples} inputs"
    return Case(
        f"{activation} network, {inputs}",
        "n",
        n,
        partial(data, n, samples),
        (
            ours(spec(n, samples, activation), "f_hess", result=result),
            Contender("by hand", partial(_by_hand, activation, samples), result=result),
            *peers,
        ),
    )


def cases() -> Iterator[Case]:
    """ReLU and tanh, one input and ten, by the width of all layers."""
    for activation in ("relu", "tanh"):
        for samples in (1, 10):
            for n in SIZES:
                yield _case(activation, samples, n)


SET = Set(
    "C",
    "networks",
    f"The Hessian of the first of {LAYERS} layers of n units, cross-entropy at the\n"
    "end; JAX, torch and autograd form all entries, ours and by hand keep factors.",
    cases,
)
