"""A stand-in for CuPy on machines without a GPU: NumPy behind CuPy's interface.

It is stricter than it is complete. Only names that CuPy has exist; device arrays and
NumPy arrays do not mix; nothing leaves the device but by `get`, `asnumpy`, `item` and
the conversion of a single entry. The folder above goes in front of the import path.
"""

from __future__ import annotations

from typing import Any

import numpy

from . import fft, lib, linalg
from ._array import lifted, ndarray, unwrap, wrap

__all__ = ["array", "asarray", "asnumpy", "fft", "lib", "linalg", "ndarray"]
__version__ = "0.0 (stand-in)"

# Not functions of arrays: CuPy has them from NumPy, as they are.
_BORROWED = """
    bool_ int8 int16 int32 int64 intp uint8 uint16 uint32 uint64 float16 float32 float64
    floating integer inexact number generic e euler_gamma inf nan newaxis pi
    dtype finfo iinfo issubdtype promote_types broadcast_shapes index_exp ndindex s_
"""

# Functions of CuPy 13 that mean what NumPy's mean.
_FUNCTIONS = """
    abs absolute add all allclose amax amin angle any append arange arccos arccosh
    arcsin arcsinh arctan arctan2 arctanh argmax argmin argpartition argsort argwhere
    around array_equal array_split ascontiguousarray asfortranarray atleast_1d
    atleast_2d atleast_3d average bincount bitwise_and bitwise_not bitwise_or
    bitwise_xor broadcast_arrays broadcast_to cbrt ceil clip column_stack concatenate
    copy copysign copyto correlate cos cosh count_nonzero cross cumprod cumsum deg2rad
    degrees diag diag_indices diagflat diagonal diff digitize divide divmod dot dsplit
    dstack einsum empty empty_like equal exp exp2 expand_dims expm1 extract eye fabs
    fill_diagonal fix flatnonzero flip fliplr flipud float_power floor floor_divide
    fmax fmin fmod frexp full full_like gcd greater greater_equal heaviside hsplit
    hstack hypot i0 identity indices inner invert isclose isfinite isin isinf isnan
    isneginf isposinf isscalar ix_ kron lcm ldexp less less_equal lexsort linspace log
    log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or
    logical_xor logspace matmul max maximum may_share_memory mean median meshgrid min
    minimum mod modf moveaxis multiply nan_to_num nanmax nanmean nanmin nansum ndim
    negative nextafter nonzero not_equal ones ones_like outer pad partition percentile
    place positive power prod ptp put putmask quantile rad2deg radians ravel
    ravel_multi_index reciprocal remainder repeat reshape result_type rint roll
    rollaxis rot90 round searchsorted select shares_memory sign signbit sin sinc sinh
    size sort split sqrt square squeeze stack std subtract sum swapaxes take
    take_along_axis tan tanh tensordot tile trace transpose tri tril tril_indices
    tril_indices_from triu triu_indices triu_indices_from true_divide trunc unique
    unravel_index unwrap var vdot vsplit vstack where zeros zeros_like
"""


def asarray(a: Any, dtype: Any = None) -> Any:
    """Return a device array; what is on the host is copied."""
    if isinstance(a, ndarray):
        data = numpy.asarray(unwrap(a), dtype=dtype)
        return a if data is unwrap(a) else wrap(data)
    return array(a, dtype)


def array(obj: Any, dtype: Any = None) -> Any:
    """Return a new device array."""
    return wrap(numpy.array(unwrap(obj, host=True), dtype=dtype))


def asnumpy(a: Any) -> Any:
    """Return an array on the host."""
    return a.get() if isinstance(a, ndarray) else numpy.asarray(a)


def __getattr__(name: str) -> Any:
    if name in _BORROWED.split():
        return getattr(numpy, name)
    if name in _FUNCTIONS.split():
        return lifted(getattr(numpy, name), name)
    raise AttributeError(f"module 'cupy' has no attribute {name!r}")
