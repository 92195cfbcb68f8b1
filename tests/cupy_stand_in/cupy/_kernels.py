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

from ._array import NUMBERS, ndarray, unwrap, wrap
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
_WAITING: list[ElementwiseKernel] = []
_COMPILED: dict[str, Any] = {}


class CompileException(Exception):
    """Text that a compiler refuses, or no compiler at all."""


class ElementwiseKernel:
    """A kernel by its text, for each type that it is called with."""

    def __init__(
        self,
        in_params: str,
        out_params: str,
        operation: str,
        name: str = "kernel",
        reduce_dims: bool = True,
        preamble: str = "",
    ) -> None:
        if not name.isidentifier():
            raise ValueError(f"Invalid kernel name: {name!r}")
        self.inputs = [text.split() for text in in_params.split(",")]
        self.outputs = [text.split() for text in out_params.split(",")]
        names = [own for _, own in (*self.inputs, *self.outputs)]
        if "i" in names or len({*names}) < len(names):
            raise ValueError(f"Can not use {names} as parameter names")
        self.operation, self.name, self.preamble = operation, name, preamble
        _WAITING.append(self)

    def __call__(self, *args: Any) -> Any:
        """Compute what it makes of arrays and numbers."""
        if len(args) != len(self.inputs):
            raise TypeError(f"Wrong number of arguments for {self.name!r}")
        for arg in args:
            if not isinstance(arg, (ndarray, *NUMBERS)):
                raise TypeError(f"Unsupported type {type(arg)}")
        if not any(isinstance(arg, ndarray) for arg in args):
            raise ValueError("Loop size is undecided.")
        launch("kernel")
        types = self._types(args)
        shape = numpy.broadcast_shapes(*(numpy.shape(unwrap(arg)) for arg in args))
        given = [
            numpy.broadcast_to(numpy.asarray(unwrap(arg), types[kind]), shape).copy("C")
            for (kind, _), arg in zip(self.inputs, args, strict=True)
        ]
        made = [numpy.empty(shape, types[kind]) for kind, _ in self.outputs]
        if made[0].size:
            addresses = [ctypes.c_void_p(x.ctypes.data) for x in (*given, *made)]
            _function(self, types)(ctypes.c_longlong(made[0].size), *addresses)
        found = tuple(map(wrap, made))
        return found if len(found) > 1 else found[0]

    def _types(self, args: Sequence[Any]) -> dict[str, str]:
        """The types that letters stand for, by the arrays that are given."""
        kinds = [kind for kind, _ in (*self.inputs, *self.outputs)]
        types = {kind: numpy.dtype(kind).name for kind in kinds if len(kind) > 1}
        for (kind, name), arg in zip(self.inputs, args, strict=True):
            own = unwrap(arg).dtype.name if isinstance(arg, ndarray) else None
            if own and types.setdefault(kind, own) != own:
                told = f"{name} {own} {types[kind]} {kind}"
                raise TypeError(f"Type is mismatched. {told}")
        if missing := {*kinds} - types.keys():
            raise KeyError(missing.pop())
        return types

    def source(self, types: Mapping[str, str]) -> tuple[str, str]:
        """A function of addresses that is the kernel for some types, and its name."""
        known = {kind: _C_TYPES.get(own, f"{own}_t") for kind, own in types.items()}
        every = [(f"const {known[kind]}", name) for kind, name in self.inputs]
        every += [(known[kind], name) for kind, name in self.outputs]
        given = ", ".join(f"{kind}* _raw_{name}" for kind, name in every)
        rows = [f"typedef {own} {kind};" for kind, own in known.items() if kind < "a"]
        rows += [self.preamble, f'extern "C" void SYMBOL(long long _size, {given}) {{']
        rows += ["for (long long i = 0; i < _size; ++i) {"]
        rows += [f"{kind} &{name} = _raw_{name}[i];" for kind, name in every]
        text = "\n".join([*rows, f"{self.operation};", "}", "}"])
        symbol = f"kernel_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        body = text.replace("SYMBOL", symbol)
        return symbol, f"namespace of_{symbol} {{\n{body}\n}}\n"


def _function(kernel: ElementwiseKernel, types: Mapping[str, str]) -> Any:
    """What a kernel is for some types; those that wait are compiled with it."""
    symbol, text = kernel.source(types)
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
