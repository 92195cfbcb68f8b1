"""Helpers of modules for CuPy that are kernels, or call some.

What is added up is computed on the way, in one launch, and computed again where it is
read: to write it and to read it takes longer.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.errors import listed
from tensorgen.operators.helpers.shares import BUNDLES, helper_of

SUMS = '''
class _Sums:
    """Sums of what is computed entry by entry, of few entries each in one launch.

    CuPy has one multiprocessor add up what it makes one number of. Where many entries
    are, all compute them first. What is made of a sum `after` is given it, and numbers.
    """

    def __init__(
        self,
        given: str,
        made: str,
        text: str,
        name: str,
        preamble: str = "",
        after: tuple[str, str, str] | None = None,
    ) -> None:
        kinds = [one.split()[0] for one in given.split(",")]
        self._count = len(kinds)
        self._entries = np.ElementwiseKernel(
            given, made, text, f"{name}_entries", preamble=preamble
        )
        more, last = preamble + _in_c("entry", given, made, text), "a"
        names = [f"in{k}" for k in range(len(kinds))]
        entry = f"entry({', '.join(names)})"
        if after is not None:
            self._after = np.ElementwiseKernel(
                *after, f"{name}_after", preamble=preamble
            )
            more += _in_c("after", *after)
            numbers = [one.split()[0] for one in after[0].split(",")[1:]]
            others = [f"number{k}" for k in range(len(numbers))]
            last = f"after({', '.join(['a', *others])})"
            kinds, names = kinds + numbers, names + others
        self._whole = after is None
        self._sums = np.ReductionKernel(
            ", ".join(map(" ".join, zip(kinds, names))),
            f"{made.split()[0]} total",
            entry,
            "a + b",
            f"total = {last}",
            "0",
            name,
            preamble=more,
        )

    def __call__(self, *given: Any, axis: Any = None, keepdims: bool = False) -> Any:
        arrays = given[: self._count]
        shape = np.broadcast(*arrays).shape
        along = (axis,) if isinstance(axis, int) else axis or range(len(shape))
        if math.prod(shape[k] for k in along) <= 2**13:
            return self._sums(*given, axis=axis, keepdims=keepdims)
        sums = self._entries(*arrays).sum(axis=axis, keepdims=keepdims)
        return sums if self._whole else self._after(sums, *given[self._count :])
'''

IN_C = '''
def _in_c(name: str, given: str, made: str, text: str) -> str:
    """Return a function in C that returns what a kernel makes of one entry."""
    kind, result = made.split()
    kinds = {kind, *(one.split()[0] for one in given.split(","))} - {"bool"}
    types = ", ".join(f"typename {x}" for x in sorted(kinds))
    head = f"template <{types}>\\n__device__ {kind} {name}({given}) "
    return head + "{\\n" + f"{made};\\n{text}\\nreturn {result};\\n" + "}\\n"
'''

MAGNITUDE = """
_magnitude = np.ReductionKernel(
    "T x",
    "T top",
    "fabs(x)",
    "a > b || a != a ? a : b",
    "top = a",
    "0",
    "_magnitude",
)
"""
"""The largest absolute value: NaN where there is one, 0 where there is no entry."""

NORM = '''
def _norm(x: Array, axis: Any = None) -> Array:
    """Return the Euclidean norm along the axes; no square leaves the range."""
    top = _magnitude(x, axis=axis, keepdims=True)
    squares = _scaled_squares(x, top, axis=axis, keepdims=True)
    return np.squeeze(_scaled_root(top, squares), axis=axis)
'''
_SCALE = "const T scale = top > 0 && isfinite(top) ? top : 1;"


def _kernel(
    name: str, given: str, made: str, *lines: str, maker: str = "np.ElementwiseKernel"
) -> str:
    """The statement that makes a kernel."""
    rows = "\n".join(f"    {line}" for line in lines)
    texts = f'"{given}", "{made}", """\n{rows}\n    """, "{name}"'
    return f"{name} = {maker}({texts})"


def _sums(name: str, given: str, made: str, *lines: str) -> str:
    return _kernel(name, given, made, *lines, maker="_Sums")


_EXP = {
    False: ("x - top", "total"),
    True: ("x - (isfinite(top) ? top : 0)", "(total == 0 ? 1 : total)"),
}
"""What is shifted, and the sum of the exponentials: as it is, and guarded."""
_SHARES = {
    "logsumexp": "top + log({total})",
    "softmax": "exp({shifted}) / {total}",
    "log_softmax": "{shifted} - log({total})",
}


def _share_kernels(guards: bool) -> dict[str, str]:
    """The kernels of softmax and its logarithms."""
    shifted, total = _EXP[guards]
    prefix = "_guarded_" if guards else "_"
    sums = f"{prefix}exp_sums"
    found = {sums: _sums(sums, "T x, T top", "T e", f"e = exp({shifted});")}
    for functions in [("logsumexp",), *_OF_ENTRIES]:
        given = (
            "T top, T total" if functions == ("logsumexp",) else "T x, T top, T total"
        )
        name = f"{prefix}{'_and_'.join(functions)}_of"
        lines = [
            f"{x} = {_SHARES[x].format(shifted=shifted, total=total)};"
            for x in functions
        ]
        made = ", ".join(f"T {x}" for x in functions)
        found[name] = _kernel(name, given, made, *lines)
    return found


_OF_ENTRIES = [x for x in BUNDLES if "logsumexp" not in x]


def _share(functions: Sequence[str], guards: bool) -> str:
    """A helper that calls these kernels."""
    prefix = "_guarded_" if guards else "_"
    end = ", infinite or empty too" if guards else " along the axes"
    own = tuple(x for x in functions if x != "logsumexp")
    made = f"tuple[{', '.join(['Array'] * len(functions))}]"
    lines = [
        f'"""Return {listed(functions)} of x{end}."""',
        f"top = {'_supremum' if guards else 'np.max'}(x, axis=axis, keepdims=True)",
        f"total = {prefix}exp_sums(x, top, axis=axis, keepdims=True)",
    ]
    logsumexp = f"np.squeeze({prefix}logsumexp_of(top, total), axis=axis)"
    shares = f"{prefix}{'_and_'.join(own)}_of(x, top, total)"
    if not own:
        lines.append(f"return {logsumexp}")
    elif len(functions) == 1:
        lines.append(f"return {shares}")
    else:
        lines.append(f"{', '.join(own)} = {shares}")
        lines += [f"logsumexp = {logsumexp}"] * (own != functions)
        lines.append(f"return {', '.join(functions)}")
    annotation = made if len(functions) > 1 else "Array"
    name = helper_of(functions, guards)
    head = f"def {name}(x: Array, axis: Any = None) -> {annotation}:"
    return "\n" + "\n    ".join([head, *lines]) + "\n"


KERNELS: dict[str, str] = {
    "_Sums": SUMS,
    "_in_c": IN_C,
    "_magnitude": MAGNITUDE,
    "_scaled_squares": _sums(
        "_scaled_squares",
        "T x, T top",
        "T square",
        _SCALE,
        "const T part = x / scale;",
        "square = part * part;",
    ),
    "_scaled_root": _kernel(
        "_scaled_root",
        "T top, T squares",
        "T norm",
        _SCALE,
        "norm = scale * sqrt(squares);",
    ),
    "_norm": NORM,
    "_swept": _kernel(
        "_swept",
        "T x, raw T y, T gain, int64 step, int64 width",
        "T after",
        "const T by_step = pow(gain, T(step));",
        "T by = by_step;",
        "after = x;",
        "for (int k = 1; k < 8 && i >= k * step * width; ++k) {",
        "    after += by * y[i - k * step * width];",
        "    by *= by_step;",
        "}",
    ),
    "_swept_by": _kernel(
        "_swept_by",
        "T x, raw T y, raw T gains, int64 step, int64 shift",
        "T after, T gain",
        "after = x;",
        "gain = 1;",
        "for (int k = 1; k <= 8 && i >= k * step; ++k) {",
        "    gain *= gains[i - (k - 1) * step - shift];",
        "    if (k < 8) after += gain * y[i - k * step];",
        "}",
    ),
    **_share_kernels(guards=False),
    **_share_kernels(guards=True),
    **{
        helper_of(functions, guards): _share(functions, guards)
        for guards in (False, True)
        for functions in BUNDLES
    },
}
"""In the order in which they are written."""
