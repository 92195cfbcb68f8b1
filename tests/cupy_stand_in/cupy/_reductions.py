"""The stand-in's kernels that reduce: what CuPy's do around the same text of C.

A block of threads shares the entries that one result is made of: each begins with the
identity, and in the end they are taken together. The text is an expression of one
entry, one of two values `a` and `b`, and a statement of what remains.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy

from ._array import ndarray, wrap
from ._config import launch
from ._kernels import CompileException, Kernel

_THREADS = 4


class ReductionKernel(Kernel):
    """What entries along axes are reduced to; it makes one array."""

    sizes = "long long _in_size, long long _out_size"

    def __init__(
        self,
        in_params: str,
        out_params: str,
        map_expr: str,
        reduce_expr: str,
        post_map_expr: str,
        identity: Any,
        name: str = "reduce_kernel",
        reduce_type: str | None = None,
        reduce_dims: bool = True,
        preamble: str = "",
    ) -> None:
        super().__init__(in_params, out_params, name, preamble)
        self.map, self.reduce, self.post = map_expr, reduce_expr, post_map_expr
        self.identity = "" if identity is None else str(identity)
        self.type = reduce_type or self.outputs[0][0]

    def __call__(
        self,
        *args: Any,
        out: Any = None,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
    ) -> Any:
        """Reduce what it makes of arrays and numbers, along all axes or some."""
        types = self.types(args)
        self._look_at_names(args)
        launch("kernel")
        given = self.broadcast(args, types)
        shape = given[0].shape
        axes = tuple(range(len(shape))) if axis is None else numpy.atleast_1d(axis)
        gone = tuple(sorted(range(len(shape))[x] for x in axes))
        if len({*gone}) < len(gone):
            raise ValueError("duplicate value in 'axis'")
        kept = tuple(k for k in range(len(shape)) if k not in gone)
        rest = [1 if k in gone else n for k, n in enumerate(shape)]
        rest = rest if keepdims else [shape[k] for k in kept]
        made = numpy.empty(rest, types[self.outputs[0][0]])
        if not made.size:
            return wrap(made)
        if not self.identity and 0 in shape:
            told = "zero-size array to reduction operation"
            raise ValueError(f"{told} {self.name} which has no identity")
        moved = [x.transpose(gone + kept).copy("C") for x in given]
        self.run(types, args, [moved[0].size, made.size], *moved, made)
        if out is None:
            return wrap(made)
        if out.shape != made.shape:
            raise ValueError("Out shape is mismatched")
        out._data[...] = made
        return out

    def _look_at_names(self, args: Sequence[Any]) -> None:
        """Refuse what does not survive how CuPy has CUB reduce a single array.

        It writes `in0` and `out0` wherever the names of the parameters stand, within
        words too, and lacks their types where they are called so already.
        """
        if len(args) != 1 or not isinstance(args[0], ndarray):
            return
        (_, given), (_, made) = *self.inputs, *self.outputs
        if (given, made) == ("in0", "out0"):
            raise CompileException("type_in0_raw is undefined")
        pairs = (given, "in0", self.map), (made, "out0", self.post)
        for name, other, text in pairs:
            if text.replace(name, other) != re.sub(rf"\b{name}\b", other, text):
                raise CompileException(text.replace(name, other))

    @property
    def numbers(self) -> Sequence[str]:
        """What is read after the sum, where arrays are not known any more."""
        return [x for _, x in self.inputs if re.search(rf"\b{x}\b", self.post)]

    def loop(
        self, every: Sequence[tuple[str, str]], numbers: Sequence[str]
    ) -> list[str]:
        """All results, one after the other; of each some threads have their share."""
        *given, (kind, made) = every
        own = [f"{x} {name} = _raw_{name}[_j * _out_size + _i];" for x, name in given]
        known = [row for row, (_, x) in zip(own, given, strict=True) if x in numbers]
        own = [row for row in own if row not in known]
        return [
            *(row.replace("[_j * _out_size + _i]", "[0]") for row in known),
            f"typedef {self.type} _type_reduce;",
            f"#define REDUCE(a, b) ({self.reduce})",
            f"#define POST_MAP(a) ({self.post})",
            "for (long long _i = 0; _i < _out_size; ++_i) {",
            f"_type_reduce _sdata[{_THREADS}];",
            f"for (int _tid = 0; _tid < {_THREADS}; ++_tid) {{",
            f"_type_reduce _s = _type_reduce({self.identity});",
            "long long _count = _in_size / _out_size;",
            f"for (long long _j = _tid; _j < _count; _j += {_THREADS}) {{",
            *own,
            f"_type_reduce _a = static_cast<_type_reduce>({self.map});",
            "_s = REDUCE(_s, _a);",
            "}",
            "_sdata[_tid] = _s;",
            "}",
            f"for (int _block = {_THREADS} / 2; _block >= 1; _block >>= 1)",
            "for (int _tid = 0; _tid < _block; ++_tid) {",
            "_type_reduce _a = _sdata[_tid], _b = _sdata[_tid + _block];",
            "_sdata[_tid] = REDUCE(_a, _b);",
            "}",
            "_type_reduce _s = _sdata[0];",
            f"{kind} &{made} = _raw_{made}[_i];",
            "POST_MAP(_s);",
            "}",
            "#undef REDUCE",
            "#undef POST_MAP",
        ]
