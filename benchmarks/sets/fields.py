"""Set N: models of sixteen fields beside code by hand, each small and at size."""

import importlib
import pkgutil
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from by_hand import fields
from by_hand.fields.pair import Operation, Pair, direction
from cases import Case, Contender, Data, Set, Task
from peers import given, hand, ours


def pairs() -> list[Pair]:
    """All models, by file."""
    names = [found.name for found in pkgutil.iter_modules(fields.__path__)]
    modules = [importlib.import_module(f"by_hand.fields.{name}") for name in names]
    return [module.PAIR for module in modules if hasattr(module, "PAIR")]


def _step(operation: Operation, module: Any, data: Data) -> Task:
    """Both derivatives, and the system of one solved with the other."""
    hessian = getattr(module, operation.function)
    gradient = getattr(module, operation.solves)
    own = given(hessian, data)
    return lambda: hessian(**own).solve(gradient(**own))


def _product(found: Any) -> list[Any]:
    return [np.asarray(found @ direction(found.shape[1]))]


def _contenders(pair: Pair, operation: Operation) -> tuple[Contender, ...]:
    if operation.solves:
        return ours(pair.spec, partial(_step, operation)), hand(operation.hand)
    if operation.times is None:
        return ours(pair.spec, operation.function), hand(operation.hand)
    times = operation.times
    return (
        ours(pair.spec, operation.function, result=_product),
        hand(operation.hand, result=lambda found: [times(found)]),
    )


def cases() -> Iterator[Case]:
    """Every operation of every model, the small size first."""
    for pair in pairs():
        for operation in pair.operations:
            for size in pair.sizes:
                yield Case(
                    f"{pair.model}, {operation.name}",
                    pair.dim,
                    size,
                    partial(pair.data, size),
                    _contenders(pair, operation),
                )


SET = Set("N", "fields", "Models of sixteen fields beside code by hand.", cases)
