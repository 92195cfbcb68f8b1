"""What is stored in an array is made there, where nothing else of it is read.

    x[t + 1] = kernel(x[t], b)        kernel(x[t], b, x[t + 1])
    grad[1:] += scale * slope         kernel(grad[1:], scale, slope, grad[1:])

A kernel reads entries in any order: of the array that it writes to it reads the very
places that it writes, or a row that it does not write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.entrywise import launches
from tensorgen.arrays.fill_directly import differs, memory_of
from tensorgen.arrays.memory import memory
from tensorgen.arrays.object_operations import Object
from tensorgen.arrays.operations import Add, Index, MatMul, Variable, View
from tensorgen.arrays.out_text import last_operation
from tensorgen.arrays.places import WHOLE, At
from tensorgen.arrays.statements import Store


def takes_memory(store: Store) -> bool:
    """Whether a store is of numbers, at places that are a view of a variable."""
    named = isinstance(store.target.op, Variable)
    basic = store.at.is_basic and not store.places
    return named and basic and store.target.kind == "float"


def place_of(store: Store) -> Array:
    """The view of the places where something is stored."""
    if all(part == WHOLE for part in store.at.parts):
        return store.target
    return array(store.at, store.target)


def with_sum(store: Store) -> Store:
    """What is added to entries as the sum that is stored there, of memory or not."""
    if store.how not in ("+=", "-=") or not takes_memory(store):
        return store
    sign = 1 if store.how == "+=" else -1
    total = array(Add((1, sign)), place_of(store), store.value)
    fits = total.dims == store.at.dims == store.value.dims
    return replace(store, how="=", value=total) if fits else store


def fits_in(value: Array, store: Store, read: Iterable[Array]) -> bool:
    """Whether a value that `read` arrays make may be made where it is stored."""
    # A number is computed for every entry again, which takes no longer than to read it.
    alike = value.kind == "float" and value.dims in (store.at.dims, ())
    if store.how != "=" or not takes_memory(store) or not alike:
        return False
    own = memory_of([store.target])
    return all(_is_apart(one, store, own) for one in read)


def _is_apart(one: Array, store: Store, own: set[str]) -> bool:
    """Whether what is read is not what is written, or each entry in its turn."""
    root = memory(one)
    if not isinstance(root.op, Variable) or memory_of([root]).isdisjoint(own):
        return True
    if one is place_of(store):
        return True
    whole = isinstance(one.op, Index) and one.args == (store.target,)
    return whole and differs(one.op, store.at)


def is_written_at_once(value: Array, store: Store) -> bool:
    """Whether a single operation of the library writes there without a copy."""
    if isinstance(value.op, MatMul):
        parts = store.at.parts
        rows = next((k for k, x in enumerate(parts) if not isinstance(x, At)), None)
        straight = rows is None or all(part == WHOLE for part in parts[rows:])
        return straight and all(arg.order <= 2 for arg in value.args)
    alone = isinstance(value.op, Add) and len(value.args) < 2
    return launches(value) == 1 and not alone and last_operation(value) is not None


def handed_on(values: Iterable[Array]) -> Iterator[str]:
    """The variables that values are, show, or hold."""
    waiting = [*values]
    while waiting:
        one = waiting.pop()
        if isinstance(one.op, Variable):
            yield one.op.name
        elif isinstance(one.op, Object | View):
            waiting += one.args


def is_free(store: Store, values: Iterable[Array]) -> bool:
    """Whether values read nothing of what is stored, so that it may be made before."""
    own = memory_of([store.target])
    for one in values:
        shown = isinstance(one.op, Variable) and one is not store.target
        if shown and not memory_of([one]).isdisjoint(own):
            return False
        if store.target in one.args and not differs(one.op, store.at):
            return False
    return True
