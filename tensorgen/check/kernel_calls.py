"""What kernels compute, by their text, over any numbers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tensorgen.arrays.kernels import Kernel
from tensorgen.check.emitted_text import Program, Unread
from tensorgen.check.kernel_text import TYPE, WHERE, lines_of
from tensorgen.check.residues import store
from tensorgen.operators.helpers.scalar_functions import IN_C

Value = Any


def callable_kernel(kernel: Kernel, program: Program) -> Callable[..., Value]:
    """Return the function that a kernel is, over the numbers of a program."""
    field, known = program.field, program.known

    def typed(value: Value) -> Value:
        return value if isinstance(value, int | Fraction) else field.of(value)

    functions: dict[str, Value] = {TYPE: typed, WHERE: known["where"]}
    for name, own in IN_C.items():
        if (last := name.rpartition(".")[2]) in known:
            functions[own] = known[last]
    functions |= {function.name: known[function.of] for function in kernel.functions}

    def run(*args: Value, axis: Any = None) -> Value:
        values, count = dict(functions), len(kernel.inputs)
        # What it makes it writes to what is given last.
        memory = args[count:] if not kernel.adds else ()
        if len(memory) not in (0, len(kernel.outputs)):
            raise Unread(f"{kernel.word} of {len(args)}")
        for text, arg in zip(kernel.inputs, args, strict=False):
            kind, name = text.split()
            values[name] = _given(program, kind, arg)
        arrays = (*args[:count], *memory)
        try:
            shape = np.broadcast_shapes(*(np.shape(x) for x in arrays))
        except ValueError:
            raise Unread(f"memory of {kernel.word}") from None
        _look_at_memory(kernel, args[:count], memory, shape)
        for kind, name, tree in lines_of(kernel):
            found = program.value(tree, values)
            values[name] = _kept(program, kind, found)
        made = [values[text.split()[1]] for text in kernel.outputs]
        found = tuple(np.broadcast_to(x, shape).copy() for x in made)
        for own, entries in zip(memory, found, strict=False):
            store(own, ..., entries)
        if not kernel.adds:
            found = memory or found
            return found if len(found) > 1 else found[0]
        total = known["sum"](found[0], axis=axis)
        if kernel.after is None:
            return total
        return callable_kernel(kernel.after, program)(
            total, *args[len(kernel.inputs) :]
        )

    return run


def _look_at_memory(
    kernel: Kernel,
    given: Sequence[Value],
    memory: Sequence[Value],
    shape: tuple[int, ...],
) -> None:
    """Refuse what one thread reads and another writes: nobody knows who is first."""
    for k, own in enumerate(memory):
        if own.shape != shape or any(np.shares_memory(own, x) for x in memory[:k]):
            raise Unread(f"memory of {kernel.word}")
        for place, one in enumerate(given):
            if not isinstance(one, np.ndarray) or not np.shares_memory(own, one):
                continue
            places = ((x.ctypes.data, x.shape, x.strides) for x in (own, one))
            if len({*places}) > 1 or _is_read_late(kernel, place, k):
                raise Unread(f"memory of {kernel.word}")


def _is_read_late(kernel: Kernel, given: int, made: int) -> bool:
    """Whether what is given is read behind the statement that writes in its place."""
    names = kernel.inputs[given].split()[1], kernel.outputs[made].split()[1]
    lines = lines_of(kernel)
    last = next(k for k, line in enumerate(lines) if line.name == names[1])
    later = (node for line in lines[last + 1 :] for node in ast.walk(line.value))
    return any(isinstance(node, ast.Name) and node.id == names[0] for node in later)


def _given(program: Program, kind: str, arg: Value) -> Value:
    """What a kernel is given: no number of another type, and Python's as they are.

    A letter that is not `T` stands for whole numbers, or for what is chosen of Python's
    numbers, which are doubles where an array is made of them.
    """
    if isinstance(arg, np.ndarray | np.generic):
        found = "bool" if arg.dtype == bool else "int" if arg.dtype.kind in "iu" else ""
        asked = {"bool": ["bool"], TYPE: [""]}.get(kind, ["int", ""])
        if found not in asked:
            raise Unread(f"{kind} {arg.dtype}")
    elif kind != TYPE:
        raise Unread(f"{kind} {type(arg).__name__}")
    else:
        return program.field.of(arg)
    return arg


def _kept(program: Program, kind: str, value: Value) -> Value:
    return np.asarray(value) != 0 if kind == "bool" else program.field.of(value)
