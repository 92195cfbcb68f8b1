"""Set D: derivatives of order 1 to 4 of the network that THOAD is measured on.

Three matrices, ReLU between them, softmax of rows. A plain sum of the result would be
constant, and its derivatives nothing but rounding: entries are weighted.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from by_hand.networks import of_softmax
from cases import Case, Contender, Data, Set, Task
from numpy.random import Generator
from peers import derived, ours

Array = Any
SIZES = (10, 30, 100)
WORDS: dict[int, Any] = {1: "gradient", 2: "hessian", 3: 3, 4: 4}
CALLS = {1: "f_grad", 2: "f_hess", 3: "f_d3", 4: "f_d4"}
PEERS = {1: 100, 2: 100, 3: 30, 4: 10}  # rows and columns that peers are asked for
ENTRIES = 2 * 10**8  # of a dense tensor that peers are asked for


def spec(b: int, p: int, order: int) -> str:
    """Return the spec for a batch of b rows and layers of p units."""
    return f"""
tensorgen: 1
module: high_orders
dims: {{b: {b}, p: {p}}}
inputs: {{X: [b, p], P1: [p, p], P2: [p, p], P3: [p, p], C: [b, p]}}
functions:
  f:
    where: |
      T = softmax(relu(relu(X @ P1) @ P2) @ P3, axis=1)
    expr: sum(C * T)
    wrt: X
    emit: [{WORDS[order]}]
"""


def loss(xp: Any, X: Array, P1: Array, P2: Array, P3: Array, C: Array) -> Any:
    """The same in a library's spelling."""
    return xp.sum(C * xp.softmax(xp.relu(xp.relu(X @ P1) @ P2) @ P3, 1))


def data(b: int, p: int, rng: Generator) -> Data:
    """Weights that keep the size of what passes through."""
    made = {name: rng.normal(size=(p, p)) / np.sqrt(p) for name in ("P1", "P2", "P3")}
    return made | {"X": rng.normal(size=(b, p)), "C": rng.normal(size=(b, p))}


def _by_hand(order: int, data: Data) -> Task:
    return lambda: of_softmax(**data, order=order)


def contracted(b: int, p: int, order: int, found: Any) -> list[Array]:
    """What a tensor in any form makes of a direction along each axis but the first."""
    v = np.random.default_rng(1).normal(size=(b, p))
    if hasattr(found, "contract"):
        return [np.reshape(found.contract(*[v] * (order - 1)), (b, p))]
    if hasattr(found, "matvec"):
        return [np.reshape(found @ v, (b, p))]
    tensor = np.asarray(found)
    if tensor.shape == (b, *[p] * order) and order > 1:
        for _ in range(order - 1):
            tensor = np.einsum("b...x,bx->b...", tensor, v)
        return [tensor]
    for _ in range(order - 1):
        tensor = np.tensordot(tensor, v, 2)
    return [tensor]


def _case(order: int, what: str, b: int, p: int) -> Case:
    result = partial(contracted, b, p, order)
    kind: Any = {1: "gradient", 2: "Hessian"}.get(order, order)
    peers = [
        Contender(c.name, c.make, c.libraries, result)
        for c in derived(loss, kind)
        if max(b, p) <= PEERS[order] and (b * p) ** order <= ENTRIES
    ]
    return Case(
        f"order {order}, {'p = 10' if what == 'b' else 'b = 10'}",
        what,
        b if what == "b" else p,
        partial(data, b, p),
        (
            ours(spec(b, p, order), CALLS[order], result=result),
            Contender("by hand", partial(_by_hand, order), result=result),
            *peers,
        ),
        agreement=1e-7,
    )


def cases() -> Iterator[Case]:
    """Growing batches of ten units, and growing layers for a batch of ten."""
    for order in WORDS:
        yield from (_case(order, "b", n, 10) for n in SIZES)
        yield from (_case(order, "p", 10, n) for n in SIZES)


SET = Set(
    "D",
    "high_orders",
    "Derivatives by X of sum(C * softmax(relu(relu(X P1) P2) P3)), b rows of p units;\n"
    "JAX, torch and autograd form all entries, ours and by hand a block for each row.",
    cases,
)
