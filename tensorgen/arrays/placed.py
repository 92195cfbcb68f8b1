"""What is stored in an array is made there, where nothing else of it is read.

    x[t + 1] = kernel(x[t], b)        kernel(x[t], b, x[t + 1])
    grad[1:] += scale * slope         kernel(grad[1:], scale, slope, grad[1:])

A kernel reads entries in any order: of the array that it writes to it reads the very
places that it writes, or a row that it does not write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tensorgen.arrays.arrays import Array, array, below
from tensorgen.arrays.entrywise import launches
from tensorgen.arrays.fill_directly import memory_of
from tensorgen.arrays.memory import memory
from tensorgen.arrays.object_operations import Object
from tensorgen.arrays.operations import Add, Index, MatMul, Variable, View
from tensorgen.arrays.out_text import last_operation
from tensorgen.arrays.places import WHOLE, At, Slice
from tensorgen.arrays.statements import Let, Statement, Store, Unpack

Placed = dict[Array, Store]
"""Values, and where they are stored."""


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
    return is_elsewhere(one, store)


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
        if store.target in one.args and not is_elsewhere(one, store):
            return False
    return True


def are_apart(one: Store, other: Store) -> bool:
    """Whether nothing is stored by both."""
    if memory_of([one.target]).isdisjoint(memory_of([other.target])):
        return True
    return one.target is other.target and _are_other_places(one.at, other.at)


def _are_other_places(one: Index, other: Index) -> bool:
    """Whether places have positions along some axis that are never the same."""
    if not all(isinstance(part, At | Slice) for part in (*one.parts, *other.parts)):
        return False
    for pair in zip(one.parts, other.parts, strict=False):
        ends = [part.limit.position for part in pair if isinstance(part, At)]
        # From the end, a position is another one for each size.
        known = len(ends) == 2 and all((end.constant or 0) >= 0 for end in ends)
        if known and (ends[0] - ends[1]).constant:
            return True
    return False


def joined(lines: Sequence[Statement], placed: Mapping[Array, Store]) -> list[Placed]:
    """Groups of values that are stored one behind the other, in one launch together.

    They are of one shape, and none reads what is stored of another one.
    """
    of = {id(line): value for value, line in placed.items()}
    groups: list[Placed] = [{}]
    for line in lines:
        if isinstance(line, Let | Unpack):
            continue
        value = of.get(id(line))
        if value is None or not isinstance(line, Store):
            groups.append({})
            continue
        first = next(iter(groups[-1]), value)
        fits = value.dims == first.dims == line.at.dims and all(
            are_apart(line, x) and _fit_together(value, line, y, x)
            for y, x in groups[-1].items()
        )
        if not fits:
            groups.append({})
        groups[-1][value] = line
    return [group for group in groups if len(group) > 1]


def _fit_together(one: Array, at: Store, other: Array, there: Store) -> bool:
    """Whether neither of two values reads what is stored of the other."""
    return is_free(there, below([one])) and is_free(at, below([other]))


def is_elsewhere(one: Array, store: Store) -> bool:
    """Whether a view is of places that are not stored."""
    if not isinstance(one.op, Index) or one.args != (store.target,):
        return False
    return _are_other_places(one.op, store.at)
