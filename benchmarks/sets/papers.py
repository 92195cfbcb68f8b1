"""Sets L, T and J: what the papers' figures show, with contenders side by side.

L: Figure 3 of Laue, Mitterreiter and Giesen 2020, the Hessians of a logistic regression
with two samples a coefficient, of a masked factorisation of rank 5 by one factor, and
of a network of ten layers by the first. T: Figures 8.3 and 8.4 of Montes Lorenzo 2025
(THOAD), a batch that is kept once and derivatives by one input as batch and layers
grow. J: Figure 8.3 too, joint derivatives by all weights as layers are added. There the
papers differentiate a plain sum of a softmax, which is constant: entries are weighted.
`benchmarks/papers.py` runs them.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numpy as np
from by_hand.networks import of_softmax
from cases import Case, Contender, Data, Set
from numpy.random import Generator
from peers import MODES, dense, derived, hand, ours, thoad
from tables import Row

from sets import factorisation, high_orders, logistic, modes, networks

Array = Any
COEFFICIENTS = (10, 30, 100, 300, 1000)
ROWS = (10, 30, 100, 200)
UNITS = (10, 20, 40, 80)
BATCHES = (10, 20, 40, 80)
ORDERS, UNITS_OF_ROWS = (2, 3), 5
GROWING = (10, 20, 50, 100)
DEPTHS = (2, 3, 4, 5, 6)
JOINT = 10, 10  # rows and units
CUBED = 10, 3
WIDER = (5, 20, 30)
PATIENCE = 60.0  # seconds that generating, tracing and compiling may take


# Figure 3 of Laue, Mitterreiter and Giesen


def along(size: int, found: Any) -> list[Array]:
    """What a Hessian in any form makes of one direction, of so many entries."""
    v = np.random.default_rng(1).normal(size=size)
    if hasattr(found, "matvec"):
        return [np.ravel(found @ v)]
    return [np.asarray(found).reshape(size, size) @ v]


def hessians(
    problem: str, text: str, loss: Any, dim: str, size: int, entries: int, data: Any
) -> Case:
    """A Hessian in all modes with all entries, compressed, and from libraries."""
    result = partial(along, entries)
    text = modes.of_second_order(text)
    sizes = {dim: size, "m": 2 * size} if dim == "n" else {dim: size, "k": 5}
    return Case(
        problem,
        dim,
        size,
        data,
        (*modes.in_all_modes(text, "f_hess_dense", result), *by(result, loss)),
        judge=partial(arithmetic, text, sizes),
        patience=PATIENCE,
    )


def arithmetic(text: str, sizes: dict[str, int], rows: dict[str, Row]) -> str:
    """How many times as much other modes have to do, as the cost model counts it."""
    cross, *others = (modes.flops(text, "f_hess_dense", sizes, m) for m in MODES)
    return " ".join(f"{f'{count / cross:.3g}':>7}" for count in others)


def by(
    result: Callable[[Any], list[Any]], loss: Any, kind: Any = "Hessian", wrt: int = 1
) -> Iterator[Contender]:
    """Yield libraries whose results are made comparable; what compiles long is left."""
    without = ["torch.compile", *["autograd"] * (wrt > 1)]
    for one in derived(loss, kind, wrt, without):
        yield Contender(one.name, one.make, one.libraries, result)


def propagated(
    result: Callable[[Any], list[Any]], loss: Any, order: int, wrt: int = 1
) -> Contender:
    """THOAD, whose result is made comparable."""
    one = thoad(loss, order, wrt)

    def dense_result(found: Any) -> list[Any]:
        return result(found.at((0,) * order) if wrt == 1 else found)

    return Contender(one.name, one.make, one.libraries, dense_result)


def figure_3() -> Iterator[Case]:
    """Logistic regression, masked factorisation, and a network, as they grow."""
    for n in COEFFICIENTS:
        data = partial(logistic.data, n)
        text = logistic.spec(n)
        yield hessians("logistic", text, logistic.loss, "n", n, n, data)
    k = factorisation.RANK
    for m in ROWS:
        data = partial(factorisation.data, m, k, True)
        text, loss = factorisation.spec(m, k, True), factorisation.masked_loss
        yield hessians("factorisation", text, loss, "m", m, m * k, data)
    for n in UNITS:
        data = partial(networks.data, n, 1)
        text, loss = networks.spec(n, 1, "relu"), networks.positional("relu")
        yield hessians("network", text, loss, "n", n, n * n, data)


# Figures 8.3 and 8.4 of Montes Lorenzo


def written_out(b: int, order: int) -> Case:
    """A batch that is kept once, and one with the zeros between its rows."""
    p = UNITS_OF_ROWS
    result = partial(high_orders.contracted, b, p, order)
    call, text = high_orders.CALLS[order], high_orders.spec(b, p, order)
    own = [ours(text, call, result=result)]
    if order == 2:
        every = text.replace("emit: [hessian]", "emit: [dense_hessian]")
        modes_of = {"dense": "cross-country", "reverse": "reverse"}
        own += [
            ours(every, "f_hess_dense", name=f"tensorgen, {x}", mode=m, result=result)
            for x, m in modes_of.items()
        ]
    else:
        own.append(ours(text, dense(call), name="tensorgen, dense", result=result))
    own.append(hand(partial(of_softmax, order=order), result=result))
    own.append(propagated(result, high_orders.loss, order))
    data = partial(high_orders.data, b, p)
    return Case(f"batch kept once, order {order}", "b", b, data, tuple(own))


def growing(what: str, size: int) -> Case:
    """The Hessian by the input rows, beside libraries, as batch or layers grow."""
    (b, p), loss = (size, 10) if what == "b" else (10, size), high_orders.loss
    result = partial(high_orders.contracted, b, p, 2)
    own = ours(high_orders.spec(b, p, 2), "f_hess", result=result)
    return Case(
        f"Hessian by rows, {'p = 10' if what == 'b' else 'b = 10'}",
        what,
        size,
        partial(high_orders.data, b, p),
        (own, *by(result, loss), propagated(result, loss, 2)),
        patience=PATIENCE,
    )


def figure_8() -> Iterator[Case]:
    """What keeping the batch once saves, and how Hessians grow."""
    for order in ORDERS:
        yield from (written_out(b, order) for b in BATCHES)
    for what in ("b", "p"):
        yield from (growing(what, size) for size in GROWING)


# Crossings: joint derivatives by all weights, by depth


def weights(depth: int) -> list[str]:
    """The names of the weights of so many layers."""
    return [f"P{k}" for k in range(1, depth + 1)]


def deep(depth: int, b: int, p: int, wrt: Sequence[str], emit: str) -> str:
    """Return the spec of a network: ReLU between its layers, softmax behind."""
    hidden = [
        f"T{k} = relu({f'T{k - 1}' if k > 1 else 'X'} @ P{k})" for k in range(1, depth)
    ]
    lines = [*hidden, f"T{depth} = softmax(T{depth - 1} @ P{depth}, axis=1)"]
    inputs = ", ".join(f"{w}: [p, p]" for w in weights(depth))
    where = "\n      ".join(lines)
    return f"""
tensorgen: 1
module: deep
dims: {{b: {b}, p: {p}}}
inputs: {{X: [b, p], {inputs}, C: [b, p]}}
functions:
  f:
    where: |
      {where}
    expr: sum(C * T{depth})
    wrt: [{', '.join(wrt)}]
    emit: [{emit}]
"""


def ordered(depth: int, b: int, p: int) -> str:
    """Return the spec of the Jacobian of all gradients: each pair in both orders."""
    own = weights(depth)
    slopes = "\n".join(f"      by_{w}: grad(f, {w})" for w in own)
    more = f"    expr:\n{slopes}\n    wrt: [{', '.join(own)}]\n    emit: [jacobian]\n"
    return f"{deep(depth, b, p, own, 'value')}  slopes:\n{more}"


def deep_loss(depth: int, wrt: Sequence[str]) -> Any:
    """The same in a library's spelling, with what it is differentiated by in front."""
    names = [*wrt, *(x for x in ("X", *weights(depth), "C") if x not in wrt)]

    def loss(xp: Any, *values: Array) -> Any:
        given = dict(zip(names, values, strict=True))
        T = given["X"]
        for w in weights(depth)[:-1]:
            T = xp.relu(T @ given[w])
        T = xp.softmax(T @ given[f"P{depth}"], 1)
        return xp.sum(given["C"] * T)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    every = [inspect.Parameter(name, kind) for name in ("xp", *names)]
    loss.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    return loss


def deep_data(depth: int, b: int, p: int, rng: Generator) -> Data:
    """Weights near the identity, behind which few of few units are zero."""
    made = {
        w: np.eye(p) + rng.normal(size=(p, p)) / np.sqrt(4 * p) for w in weights(depth)
    }
    return made | {"X": np.abs(rng.normal(size=(b, p))), "C": rng.normal(size=(b, p))}


def crossed(wrt: Sequence[str], order: int, found: Any) -> list[Array]:
    """The block of each unordered tuple of inputs, dense, in order."""
    blocks = []
    for places in combinations_with_replacement(range(len(wrt)), order):
        if hasattr(found, "at"):
            block = found.at(places)
        elif hasattr(found, "blocks"):
            block = found.blocks[tuple(wrt[k] for k in places)]
        else:
            block = found
            for k in places:
                block = block[k]
        blocks.append(np.asarray(block.dense() if hasattr(block, "dense") else block))
    return blocks


def crossing(
    problem: str, dim: str, size: int, b: int, p: int, *, order: int = 2, rows: int = 0
) -> Case:
    """All derivatives of one order by all weights, and by the rows as well."""
    depth = size if dim == "depth" else DEPTHS[-1]
    wrt = ["X"] * rows + weights(depth)
    result = partial(crossed, wrt, order)
    emit, call = ("hessian", "f_hess") if order == 2 else ("3", "f_d3")
    own = [ours(deep(depth, b, p, wrt, emit), call, result=result)]
    if order == 2 and not rows:
        text = ordered(depth, b, p)
        own.append(ours(text, "slopes_jac", name="tensorgen, ordered", result=result))
    kind, loss = "Hessian" if order == 2 else order, deep_loss(depth, wrt)
    return Case(
        problem,
        dim,
        size,
        partial(deep_data, depth, b, p),
        (
            *(*own, *by(result, loss, kind, len(wrt))),
            # Last: whoever is first of the others is what results are held against.
            propagated(result, loss, order, len(wrt)),
        ),
        judge=lambda rows: counted(len(wrt), order),
        patience=PATIENCE,
    )


def counted(inputs: int, order: int) -> str:
    """How many blocks there are in any order of inputs, and in each."""
    kept = comb(inputs + order - 1, order)
    return f"{kept} of {inputs**order}"


def crossings() -> Iterator[Case]:
    """Hessians and third derivatives by depth, and by width at the last depth."""
    for depth in DEPTHS:
        yield crossing("Hessian by all weights", "depth", depth, *JOINT)
    for depth in DEPTHS[::2]:
        yield crossing("Hessian by rows and weights", "depth", depth, *JOINT, rows=1)
    for p in WIDER:
        yield crossing(f"Hessian by {DEPTHS[-1]} weights", "p", p, JOINT[0], p)
    for depth in DEPTHS[:-1]:  # by more than five inputs they are refused
        yield crossing("order 3 by all weights", "depth", depth, *CUBED, order=3)


SETS = (
    Set("L", "laue", "Figure 3 of Laue, Mitterreiter and Giesen 2020", figure_3),
    Set("T", "thoad", "Figures 8.3 and 8.4 of Montes Lorenzo 2025", figure_8),
    Set("J", "crossings", "Joint derivatives by depth, as in Figure 8.3", crossings),
)
