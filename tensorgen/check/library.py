"""What generated code calls, over any numbers: residues or floating-point numbers.

Functions of arrays stand here as far as no number is looked at; the others are made
of these. A number array has the dtype of its field; masks and indices are as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from tensorgen.check import residue_functions, square_matrices
from tensorgen.check.reals import Reals
from tensorgen.check.residues import NoValue, Residues
from tensorgen.check.square_matrices import systems
from tensorgen.check.walks import Field, Walks
from tensorgen.operators.helpers import logistic, shares
from tensorgen.operators.helpers.special import BETWEEN, order_of
from tensorgen.operators.references import Array
from tensorgen.operators.references.rows import OPERATORS
from tensorgen.operators.references.whole_arrays import by_key

Axes = int | tuple[int, ...] | None


def library(field: Field) -> dict[str, Callable[..., Array]]:
    """All functions by the last part of their names."""
    found = dict(field.functions)
    found["isqrt"] = math.isqrt
    if isinstance(field, Residues):
        found |= residue_functions.functions(field) | square_matrices.functions(field)
    else:
        found |= _real_matrices(field)
    found |= systems(field, found)
    found |= _logistic(field, found) | _between(found)
    own = Library(field, found)
    for guards in (False, True):
        for names in shares.BUNDLES:
            share = partial(own.share, names, guards)
            found[shares.helper_of(names, guards)] = share
    for name in dir(own):
        if name.startswith("_np_"):
            found[name.removeprefix("_np_")] = getattr(own, name)
    return found


def _logistic(
    field: Field, known: dict[str, Callable[..., Array]]
) -> dict[str, Callable[..., Array]]:
    """Helpers of several logistic functions, each by itself."""

    def negative(x: Array) -> Array:
        return field.reduced(-field.of(x))

    each: dict[str, Callable[[Array], Array]] = {
        "softplus": lambda t: known["logaddexp"](0, t),
        "log_sigmoid": lambda t: negative(known["logaddexp"](0, negative(t))),
        "sigmoid": known["_sigmoid"],
        "complement": lambda t: known["_sigmoid"](negative(t)),
        "slope": known["_sigmoid_slope"],
    }

    def together(names: Sequence[str], t: Array) -> Array:
        values = tuple(each[name](t) for name in names)
        return values if len(values) > 1 else values[0]

    return {
        logistic.together(names): partial(together, names) for names in logistic.BUNDLES
    }


def _between(known: dict[str, Callable[..., Array]]) -> dict[str, Callable[..., Array]]:
    """The helper of what is normal between two ends, of functions by themselves."""

    def together(x: Array, y: Array, width: Array, order: Any) -> Array:
        names = [name for name in BETWEEN if order_of([name]) <= int(order)]
        return tuple(known[f"_{name}"](x, y, width) for name in names)

    return {"_normal_between": together}


def _real_matrices(field: Reals) -> dict[str, Callable[..., Array]]:
    def cholesky_solve(factor: Array, b: Array) -> Array:
        return np.linalg.solve(factor @ np.swapaxes(factor, -1, -2), b)

    names = ("inv", "det", "slogdet", "solve", "cholesky", "eigh", "eigvalsh", "svd")
    found = {name: getattr(np.linalg, name) for name in names}
    found |= {"_cholesky_solve": cholesky_solve, "expm": OPERATORS["expm"]}
    own = ("cholesky_inverse", "sqrtm", "logm", "lyapunov", "log_slope")
    found |= {f"_{name}": OPERATORS[name] for name in own}
    return {**found, "pinv": OPERATORS["pinv"]}


def exactly(function: Callable[..., Array], numbers: int) -> Callable[..., Array]:
    """The method for what only adds and multiplies its first arguments, the numbers."""

    def method(self: Library, *args: Any, **how: Any) -> Array:
        given = map(self.field.of, args[:numbers])
        return self.field.reduced(function(*given, *args[numbers:], **how))

    return method


class Library(Walks):
    """Functions of arrays; those that begin with `_np_` are called by that name."""

    # Contractions

    _np_tensordot = exactly(np.tensordot, 2)
    _np_outer = exactly(np.outer, 2)
    _np_matmul = exactly(np.matmul, 2)
    _np_trace = exactly(np.trace, 1)
    _np_sum = exactly(np.sum, 1)
    _np_prod = exactly(np.prod, 1)
    _np_cumsum = exactly(np.cumsum, 1)
    _np_cumprod = exactly(np.cumprod, 1)

    def _np_einsum(self, subscripts: str, *args: Array, optimize: bool = True) -> Array:
        return self.field.reduced(np.einsum(subscripts, *self._numbers(*args)))

    def _np_vdot(self, a: Array, b: Array) -> Array:
        a, b = self._numbers(a, b)
        return self.field.reduced((a.ravel() * b.ravel()).sum())

    def _np_bincount(self, x: Array, minlength: int) -> Array:
        return self.field.of(np.bincount(x.astype(int), minlength=minlength))

    # Operators by their names

    _np_add = exactly(np.add, 2)
    _np_subtract = exactly(np.subtract, 2)
    _np_multiply = exactly(np.multiply, 2)

    def _np_divide(self, a: Array, b: Array) -> Array:
        return self.field.divided(a, b)

    def _np_power(self, a: Array, exponent: Array) -> Array:
        return self.field.power(a, exponent)

    def _np_square(self, a: Array) -> Array:
        return self._np_multiply(a, a)

    # Index arrays

    def _np__count(self, **indices: Array) -> int:
        return 1 + max((int(x.max()) for x in indices.values() if x.size), default=-1)

    def _np__blocks(self, length: int, width: int, numbers: int) -> list[slice]:
        """Slices of one place and of two in turn: small sizes have several as well."""
        ends = [k for k in range(length) if k % 3 < 2] + [length]
        return [slice(*pair) for pair in pairwise(ends)]

    def _np__max_of_alike(self, x: Array, keys: Array, read: Array) -> Array:
        size = self._np__count(keys=keys, read=read)
        return self._np__max_by_key(x, keys, size, *x.shape[1:])[read]

    def _np__max_by_key(self, x: Array, keys: Array, *shape: int) -> Array:
        return by_key(self._np_max, 0)(self.field.of(x), keys, shape)

    def _np__min_by_key(self, x: Array, keys: Array, *shape: int) -> Array:
        return by_key(self._np_min, 0)(self.field.of(x), keys, shape)

    def _np__prod_by_key(self, x: Array, keys: Array, *shape: int) -> Array:
        return by_key(self._np_prod, 1)(self.field.of(x), keys, shape)

    _np__prod_others_by_key = exactly(OPERATORS["prod_others_by_key"], 1)
    _np__sums_between = exactly(OPERATORS["sums_between"], 1)

    def _np__spread_between(
        self, w: Array, low: Array, high: Array, *shape: int
    ) -> Array:
        return self._of_reference("spread_between", self.field.of(w), low, high, shape)

    # Reductions

    def _np_median(self, a: Array, axis: Axes = None) -> Array:
        sides = (self._np_quantile(a, None, axis, x) for x in ("lower", "higher"))
        return self.field.divided(self.field.reduced(sum(sides)), 2)

    def _np_quantile(
        self, a: Array, q: Any, axis: Axes = None, method: str = ""
    ) -> Array:
        rows = np.sort(self._some(a, axis), axis=0)
        middle = (len(rows) - 1) // 2 if method == "lower" else len(rows) // 2
        return np.asarray(rows[middle], dtype=self.field.dtype)

    def _np_max(self, a: Array, axis: Axes = None) -> Array:
        return self._reduced("first", a, axis)

    def _np__supremum(self, a: Array, axis: Axes = None) -> Array:
        return self._reduced("first", a, axis)

    def _np_min(self, a: Array, axis: Axes = None) -> Array:
        return self._reduced("last", a, axis)

    def _reduced(self, name: str, a: Array, axis: Axes) -> Array:
        rows = self._some(a, axis)
        found = rows[0]
        for row in rows[1:]:
            found = self.others[name](found, row)
        return np.asarray(found, dtype=self.field.dtype)

    def _np__prod_others(self, a: Array, axis: Axes = None) -> Array:
        a = self.field.of(a)
        whole = tuple(range(a.ndim)) if axis is None else axis
        axes = whole if isinstance(whole, tuple) else (whole,)
        return self._of_reference("prod_others", a, axes)

    def _np__packed(self, a: Array, axis: Axes = None) -> Array:
        a = self.field.of(a)
        axes = axis if isinstance(axis, tuple) else tuple(range(a.ndim))
        return OPERATORS["packed"](a, axes)

    def _np__unpacked(self, a: Array, *shape: int) -> Array:
        return OPERATORS["unpacked"](self.field.of(a), shape)

    def _np__capacitance(self, small: Array, *others: Any) -> Array:
        return self.field.of(small)

    def _np_any(self, a: Array, axis: Axes = None) -> Array:
        return np.any(self.holds(a), axis=axis)

    def _np__norm(self, a: Array, axis: Axes = None) -> Array:
        a = self.field.of(a)
        return self.others["sqrt"](self._np_sum(self.field.reduced(a * a), axis))

    def _some(self, a: Array, axis: Axes) -> Array:
        """The entries that are reduced; raises `NoValue` if there is none."""
        rows = self._rows(self.field.of(a), axis)
        if not len(rows):
            raise NoValue
        return rows

    def _rows(self, a: Array, axis: Axes) -> Array:
        """The entries that are reduced, along the first axis."""
        whole = tuple(range(a.ndim)) if axis is None else axis
        axes = whole if isinstance(whole, tuple) else (whole,)
        kept = [k for k in range(a.ndim) if k not in {x % a.ndim for x in axes}]
        moved = a.transpose([*(x % a.ndim for x in axes), *kept])
        count = math.prod(a.shape[x] for x in axes)
        return moved.reshape(count, *(a.shape[k] for k in kept))

    # Softmax and its logarithms

    def share(
        self, names: Sequence[str], guards: bool, a: Array, axis: Axes = None
    ) -> Array:
        """What a helper of such functions returns."""
        a, of = self.field.of(a), self.field.reduced
        whole = tuple(range(a.ndim)) if axis is None else axis
        top = self._reduced("first", a, axis)
        level = self.others["_finite"](top) if guards else top
        shifted = of(a - np.expand_dims(level, whole))
        e = self.others["exp"](shifted)
        sums = self._np_sum(e, axis)
        total = self.others["_nonzero"](sums) if guards else sums
        log = self.others["log"](total)
        found: dict[str, Callable[[], Array]] = {
            "logsumexp": lambda: of(top + log),
            "softmax": lambda: self.field.divided(e, np.expand_dims(total, whole)),
            "log_softmax": lambda: of(shifted - np.expand_dims(log, whole)),
        }
        values = tuple(found[name]() for name in names)
        return values if len(values) > 1 else values[0]

    # Distances

    _np__squared_distances = exactly(OPERATORS["squared_distances"], 3)
    _np__metric_distances = exactly(OPERATORS["metric_distances"], 3)

    def _np__distances(self, x: Array, y: Array, scale: Any = 1) -> Array:
        return self.others["sqrt"](self._np__squared_distances(x, y, scale))

    # Masks

    def holds(self, condition: Array) -> Array:
        """A condition as a mask; numbers hold where they are not 0."""
        return np.asarray(condition) != 0

    def _np_where(self, condition: Array, x: Array, y: Array) -> Array:
        arrays = [v for v in (x, y) if isinstance(v, np.ndarray)]
        places = arrays and all(np.asarray(v).dtype.kind in "iu" for v in (x, y))
        chosen = (x, y) if places else self._numbers(x, y)
        return np.where(self.holds(condition), *chosen)

    def _np_logical_not(self, x: Array) -> Array:
        return ~self.holds(x)

    # New arrays and views

    _np_zeros_like = staticmethod(np.zeros_like)

    @staticmethod
    def _np_diagonal(a: Array, axis1: int = 0, axis2: int = 1) -> Array:
        found = np.diagonal(a, axis1=axis1, axis2=axis2)
        if a.flags.writeable:
            found.flags.writeable = True  # as CuPy's are
        return found

    _np_broadcast_to = staticmethod(np.broadcast_to)
    _np_reshape = staticmethod(np.reshape)
    _np_ravel = staticmethod(np.ravel)
    _np_concatenate = staticmethod(np.concatenate)
    _np_hstack = staticmethod(np.hstack)

    def _filled(self, shape: Any, value: int, dtype: Any) -> Array:
        return np.full(shape, value, dtype=dtype or self.field.dtype)

    def _np_zeros(self, shape: Any, dtype: Any = None) -> Array:
        return self._filled(shape, 0, dtype)

    def _np_ones(self, shape: Any, dtype: Any = None) -> Array:
        return self._filled(shape, 1, dtype)

    def _np_full(self, shape: Any, value: Array, dtype: Any = None) -> Array:
        return np.broadcast_to(self.field.of(value), shape).copy()

    def _np_array(self, values: Any, dtype: Any = None) -> Array:
        return self.field.of(np.array(values))

    def _np_eye(self, side: int, dtype: Any = None) -> Array:
        return np.eye(side, dtype=bool if dtype is bool else self.field.dtype)

    def _np_arange(self, *ends: int, dtype: Any = None) -> Array:
        found = np.arange(*ends)
        return found if dtype is None else self.field.of(found)

    def _np_tri(self, *sizes: int, dtype: Any = None) -> Array:
        return np.tri(*sizes, dtype=bool)

    def _np_diag(self, x: Array) -> Array:
        return np.diag(self.field.of(x))

    def _np_tril(self, x: Array, shift: int = 0) -> Array:
        return np.where(
            np.tri(x.shape[-2], x.shape[-1], shift, dtype=bool), self.field.of(x), 0
        )

    def _np_triu(self, x: Array, shift: int = 0) -> Array:
        kept = ~np.tri(x.shape[-2], x.shape[-1], shift - 1, dtype=bool)
        return np.where(kept, self.field.of(x), 0)

    def _np_pad(self, x: Array, widths: Any) -> Array:
        pairs = [widths] * x.ndim if isinstance(widths[0], int) else widths
        ends = zip(pairs, x.shape, strict=True)
        # Zeros of NumPy's own would wrap among residues.
        out = self._filled([a + n + b for (a, b), n in ends], 0, x.dtype)
        starts = zip(pairs, x.shape, strict=True)
        out[tuple(slice(a, a + n) for (a, _), n in starts)] = x
        return out

    def _np_clip(self, x: Array, low: Any, high: Any) -> Array:
        if x.dtype == self.field.dtype:
            return self.others["clipped"](x, low, high)
        return np.clip(x, low, high)

    def _np_asarray(self, x: Array, dtype: Any = None) -> Array:
        return self.field.of(x)

    def _np_indices(self, shape: Any) -> Array:
        return np.indices(shape if isinstance(shape, tuple) else (shape,))

    def _np_sliding_window_view(self, x: Array, shape: Any, axis: Any = None) -> Array:
        sides = x.shape if axis is None else np.array(x.shape)[np.atleast_1d(axis)]
        if np.any(np.atleast_1d(shape) > sides):
            raise NoValue
        view = np.lib.stride_tricks.sliding_window_view
        return view(x, shape, axis=axis)

    _np__windows = _np_sliding_window_view

    def _np__toeplitz_times(self, column: Array, operand: Array) -> Array:
        i = np.arange(len(column))
        return self._np_matmul(column[abs(i[:, None] - i)], operand)

    def _np__correlate(
        self, x: Array, w: Array, before: int = 0, after: int = 0
    ) -> Array:
        x, w = self._numbers(x, w)
        return self._along(self._np_pad(x, (before, after)), w)

    def _np__moving_sum(
        self, x: Array, length: int, before: int = 0, after: int = 0, axis: int = 0
    ) -> Array:
        rows = np.moveaxis(self.field.of(x), axis, 0)
        rows = self._np_pad(rows, [(before, after), *[(0, 0)] * (rows.ndim - 1)])
        return np.moveaxis(self._along(rows, [1] * length), 0, axis)

    def _along(self, rows: Array, weights: Sequence[Any]) -> Array:
        """The sums of weighted rows, from each that has as many behind it."""
        count = max(len(rows) - len(weights) + 1, 0)
        sums = self._filled((count, *rows.shape[1:]), 0, None)
        for k, weight in enumerate(weights if count else ()):
            sums = self.field.reduced(sums + rows[k : k + count] * weight)
        return sums

    # Changes

    def _np__sum_by_key(self, x: Array, keys: Any, *shape: int) -> Array:
        out = self._filled(shape, 0, None)
        self._np__add_at(out, keys, x)
        return out

    _np__sum_rows_by_key = _np__sum_by_key

    def _np__add_at(self, out: Array, index: Any, values: Array) -> None:
        if out.size:  # else places are behind the end
            np.add.at(out, index, self.field.of(values))
        out[...] = self.field.reduced(out)
