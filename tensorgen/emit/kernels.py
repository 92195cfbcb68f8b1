"""The kernels of a module: what stands for them at its top level, and their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tensorgen.arrays.kernels import Kernel
from tensorgen.emit import pieces
from tensorgen.emit.backends import Backend
from tensorgen.emit.module import Module
from tensorgen.emit.text import words
from tensorgen.spec.names import unused


def of(module: Module) -> list[Kernel]:
    """Return what bodies call, in the order of the first calls."""
    bodies = pieces.bodies(module)
    return [*dict.fromkeys(x for body in bodies for x in body.kernels)]


def sources(kernels: Sequence[Kernel], backend: Backend) -> Iterator[str]:
    """Return the statements that define kernels, and before them what these call."""
    functions = dict.fromkeys(x for kernel in kernels for x in kernel.functions)
    for function in functions:
        yield f'{function.constant} = """\n{function.source}"""'
    for kernel in kernels:
        yield kernel.source(backend.alias)


def named(text: str, kernels: Sequence[Kernel]) -> str:
    """Return the text of a module with kernels called after what they compute.

    They are told apart by what nobody would call them before all other names stand.
    """
    taken, names = words(text.split("\n")), dict[str, str]()
    for kernel in kernels:
        names[kernel.name] = unused(f"_{kernel.word}", taken)
        taken.add(names[kernel.name])
    if not names:
        return text
    return re.sub("|".join(names), lambda found: names[found[0]], text)
