"""The stand-in's kernels: the same text of C, compiled for the machine at hand.

What CuPy puts around it is put here, too: types by their letters, inputs broadcast
against each other, outputs of their shape. A double where all is of single precision is
an error. What was compiled is kept in a folder, by its text.
"""

from __future__ import annotations

import ctypes
import getpass
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy

from ._array import NUMBERS, are_alike, ndarray, unwrap, wrap
from ._config import launch

_FOLDER = Path(tempfile.gettempdir()) / f"cupy-stand-in-{getpass.getuser()}"
_TOP = """
#include <cmath>
#include <cstdint>
using namespace std;
#define __device__ inline
"""
_FLAGS = (
    *("-std=c++17", "-O1", "-shared", "-fPIC", "-x", "c++", "-"),
    *("-ffp-contract=off", "-Werror=double-promotion"),
)
_C_TYPES = {"bool": "bool", "float32": "float", "float64": "double"}
_WAITING: list[Kernel] = []
_COMPILED: dict[str, Any] = {}


class CompileException(Exception):
    """Text that a compiler refuses, or no compiler at all."""


class Kernel:
    """A kernel by its text, for each type that it is called with."""

    def __init__(
        self, in_params: str, out_params: str, name: str, preamble: str
    ) -> None:
        if not name.isidentifier():
            raise ValueError(f"Invalid kernel name: {name!r}")
        given = [text.split() for text in in_params.split(",")]
        # What is `raw` is no part of the loop: the text says which entries it reads.
        self.raw = {words[-1] for words in given if words[0] == "raw"}
        self.inputs = [words[-2:] for words in given]
        self.outputs = [text.split() for text in out_params.split(",")]
        self.name, self.preamble = name, preamble
        _WAITING.append(self)

    @property
    def names(self) -> list[str]:
        """What its text calls what it is given, and what it makes."""
        return [own for _, own in (*self.inputs, *self.outputs)]

    def types(self, args: Sequence[Any]) -> dict[str, str]:
        """The types that letters stand for, by the arrays that are given."""
        if len(args) not in (len(self.inputs), len(self.names)):
            raise TypeError(f"Wrong number of arguments for {self.name!r}")
        for arg in args:
            if not isinstance(arg, (ndarray, *NUMBERS)):
                raise TypeError(f"Unsupported type {type(arg)}")
        pairs = zip(self.names, args, strict=False)
        if not any(isinstance(x, ndarray) for name, x in pairs if name not in self.raw):
            raise ValueError("Loop size is undecided.")
        kinds = [kind for kind, _ in (*self.inputs, *self.outputs)]
        types = {kind: numpy.dtype(kind).name for kind in kinds if len(kind) > 1}
        every = [*self.inputs, *self.outputs]
        for (kind, name), arg in zip(every, args, strict=False):
            own = unwrap(arg).dtype.name if isinstance(arg, ndarray) else None
            if own and types.setdefault(kind, own) != own:
                told = f"{name} {own} {types[kind]} {kind}"
                raise TypeError(f"Type is mismatched. {told}")
        if missing := {*kinds} - types.keys():
            raise KeyError(missing.pop())
        return types

    def broadcast(self, args: Sequence[Any], types: Mapping[str, str]) -> list[Any]:
        """What it is given, as arrays of one shape, which is that of memory as well."""
        pairs = zip(self.names, args, strict=False)
        shapes = (
            numpy.shape(unwrap(arg)) for name, arg in pairs if name not in self.raw
        )
        shape = numpy.broadcast_shapes(*shapes)
        found = []
        for (kind, name), arg in zip(self.inputs, args, strict=False):
            own = numpy.asarray(unwrap(arg), types[kind])
            found.append(own if name in self.raw else numpy.broadcast_to(own, shape))
        return found

    def source(
        self, types: Mapping[str, str], numbers: Sequence[str] | None = None
    ) -> tuple[str, str]:
        """A function of addresses that is the kernel for some types, and its name.

        Some parameters are `numbers`: those that are expected to be, where nobody says.
        """
        known = {kind: _C_TYPES.get(own, f"{own}_t") for kind, own in types.items()}
        every = [(f"const {known[kind]}", name) for kind, name in self.inputs]
        every += [(known[kind], name) for kind, name in self.outputs]
        given = ", ".join(f"{kind}* _raw_{name}" for kind, name in every)
        rows = [f"typedef {own} {kind};" for kind, own in known.items() if kind < "a"]
        rows += [self.preamble, f'extern "C" void SYMBOL({self.sizes}, {given}) {{']
        numbers = self.numbers if numbers is None else numbers
        text = "\n".join([*rows, *self.loop(every, numbers), "}"])
        symbol = f"kernel_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        body = text.replace("SYMBOL", symbol)
        return symbol, f"namespace of_{symbol} {{\n{body}\n}}\n"

    @property
    def sizes(self) -> str:
        """The sizes that the function takes first."""
        raise NotImplementedError

    @property
    def numbers(self) -> Sequence[str]:
        """The parameters that are expected to be numbers."""
        return ()

    def loop(
        self, every: Sequence[tuple[str, str]], numbers: Sequence[str]
    ) -> list[str]:
        """Its text, over `every` parameter by its type and name."""
        raise NotImplementedError

    def run(
        self,
        types: Mapping[str, str],
        args: Sequence[Any],
        sizes: Sequence[int],
        *arrays: Any,
    ) -> None:
        """Run the function that it is for some arguments."""
        pairs = zip(self.names, args, strict=False)
        numbers = [name for name, arg in pairs if not isinstance(arg, ndarray)]
        addresses = [ctypes.c_void_p(x.ctypes.data) for x in arrays]
        function = _function(self, types, numbers)
        function(*map(ctypes.c_longlong, sizes), *addresses)


class ElementwiseKernel(Kernel):
    """What is done entry by entry."""

    sizes = "long long _size"

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        reduce_dims: bool = True,
        preamble: str = "",
    ) -> None:
        super().__init__(in_params, out_params, name, preamble)
        if "i" in self.names or len({*self.names}) < len(self.names):
            raise ValueError(f"Can not use {self.names} as parameter names")
        self.operation = operation

    def __call__(self, *args: Any) -> Any:
        """Compute what it makes of arrays and numbers, in memory that is given last."""
        types = self.types(args)
        launch("kernel")
        given = self.broadcast(args, types)
        memory = [unwrap(arg) for arg in args[len(self.inputs) :]]
        sizes = zip(given, self.inputs, strict=True)
        shape = next(x.shape for x, (_, name) in sizes if name not in self.raw)
        if any(x.shape != shape for x in memory):
            raise ValueError("Out shape is mismatched")
        _look_at_memory(given, memory)
        given = [x.copy("C") for x in given]
        made = [numpy.empty(shape, types[kind]) for kind, _ in self.outputs]
        if made[0].size:
            self.run(types, args[: len(given)], [made[0].size], *given, *made)
        for own, entries in zip(memory, made, strict=False):
            own[...] = entries
        found = tuple(map(wrap, memory or made))
        return found if len(found) > 1 else found[0]

    def loop(
        self, every: Sequence[tuple[str, str]], numbers: Sequence[str]
    ) -> list[str]:
        """All entries, one after the other."""
        rows = ["for (long long i = 0; i < _size; ++i) {"]
        for kind, name in every:
            own = f"*{name} = _raw_{name}" if name in self.raw else None
            rows.append(f"{kind} {own or f'&{name} = _raw_{name}[i]'};")
        return [*rows, f"{self.operation};", "}"]


def _look_at_memory(given: Sequence[Any], memory: Sequence[Any]) -> None:
    """Refuse what one thread reads and another writes: nobody knows who is first."""
    for k, own in enumerate(memory):
        others = [*(x for x in given if not are_alike(own, x)), *memory[:k]]
        if any(numpy.shares_memory(own, x) for x in others):
            raise RuntimeError("what is made depends on the order of threads")


def _function(kernel: Kernel, types: Mapping[str, str], numbers: Sequence[str]) -> Any:
    """What a kernel is for some types; those that wait are compiled with it."""
    symbol, text = kernel.source(types, numbers)
    if symbol not in _COMPILED:
        sources = {symbol: text}
        for other in _WAITING:
            if all(kind in ("T", "bool") for kind, _ in other.inputs):
                for own in ("float64", "float32"):
                    sources |= [other.source({"T": own, "bool": "bool"})]
        _WAITING.clear()
        fresh = {x: own for x, own in sources.items() if x not in _COMPILED}
        library = ctypes.CDLL(str(_library(fresh)))
        _COMPILED.update({x: getattr(library, x) for x in fresh})
    return _COMPILED[symbol]


def _library(sources: Mapping[str, str]) -> Path:
    """The file of what some sources are compiled to."""
    text = _TOP + "".join(sources[x] for x in sorted(sources))
    digest = hashlib.sha256("\n".join([*_FLAGS, text]).encode()).hexdigest()
    file = _FOLDER / f"{digest[:32]}.so"
    if file.exists():
        return file
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        raise CompileException("kernels need a C++ compiler: c++, or what CXX names")
    _FOLDER.mkdir(exist_ok=True)
    part = file.with_suffix(f".{os.getpid()}")
    command = [compiler, *_FLAGS, "-o", str(part)]
    done = subprocess.run(command, input=text, text=True, capture_output=True)
    if done.returncode:
        raise CompileException(f"{done.stderr}\n{text}")
    os.replace(part, file)
    return file
