"""A kernel: what is computed of each entry of arrays, in one launch.

    _d_t = cp.ElementwiseKernel("T y, T t", "T d_t", "d_t = -y * sigmoid(t);", "_d_t")

Its text is C. Inputs are broadcast against each other, and outputs have their shape.
Numbers are of the type `T`, which is that of all arrays of numbers that are given. What
it makes of entries may be added up along axes in the same launch.
"""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from tensorgen.arrays.device_functions import DeviceFunction

WIDTH = 80
SUMS = "_Sums"
"""The class of modules that adds up what a kernel makes."""
_WORDS = """
    alignas alignof and asm assert auto bitand bitor bool break case catch char class
    compl const constexpr continue default delete do double else enum explicit export
    extern false float for friend goto half i if inline int long mutable n namespace
    near new noexcept not nullptr operator or private protected public register return
    short signed size_t sizeof static struct switch template this throw true try typedef
    typename union unsigned using virtual void volatile while xor T INFINITY NAN NULL
"""
RESERVED = frozenset(_WORDS.split())
"""What no variable of a kernel is called: words of C++ and of what CuPy puts around."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """What is computed of one entry: `lines` of C over `inputs`, into `outputs`.

    Each of these is a type and a name, `T y`. The text calls `functions`, each of them
    behind those that it calls itself. Until all names of a module are known, a `word`
    says what it computes. Where it `adds`, what it makes is one array's terms, and who
    calls it says along which axes. What is done `after` that is a kernel of the sum and
    of numbers.
    """

    word: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    lines: tuple[str, ...]
    functions: tuple[DeviceFunction, ...] = ()
    adds: bool = False
    after: Kernel | None = None

    @property
    def name(self) -> str:
        """A name that no other kernel has, nor anything else."""
        parts = (self.word, *self.inputs, "", *self.outputs, "", *self.lines)
        parts += ("adds",) if self.adds else ()
        parts += (self.after.name,) if self.after else ()
        digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return f"_{self.word}__{digest[:12]}"

    def source(self, alias: str) -> str:
        """The statement that makes it, for the array module called `alias`."""
        arguments = [*self.texts, f'"{self.name}"']
        if self.functions:
            told = " + ".join(function.constant for function in self.functions)
            arguments.append(f"preamble={told}")
        if self.after:
            given, made, text = self.after.texts
            lines = self.after.lines
            short = len(lines) == 1 and len(lines[0]) <= WIDTH - 8
            text = f'"{lines[0]}"' if short else text
            arguments.append(f"after=({given}, {made}, {text})")
        maker = SUMS if self.adds else f"{alias}.ElementwiseKernel"
        return f"{self.name} = {maker}({', '.join(arguments)})"

    @property
    def texts(self) -> tuple[str, str, str]:
        """What it is given, what it makes and how, as strings of Python."""
        return _listed(self.inputs), _listed(self.outputs), f'"""\n{self.body}\n    """'

    @property
    def body(self) -> str:
        """Its lines, as long as they may be, indented."""
        return "\n".join(row for line in self.lines for row in wrapped(line))


def _listed(parameters: Sequence[str]) -> str:
    """Parameters as a string of Python, several in a row where one would be long."""
    whole = ", ".join(parameters)
    room = len(whole) + 1 if len(whole) <= WIDTH else WIDTH - 8
    rows = textwrap.wrap(whole, room, break_long_words=False)
    return " ".join([*(f'"{row} "' for row in rows[:-1]), f'"{rows[-1]}"'])


def wrapped(line: str) -> Sequence[str]:
    """A statement of C as lines that fit."""
    indent = " " * 4
    return textwrap.wrap(
        line,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=2 * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
