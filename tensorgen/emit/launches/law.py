"""Which calls of CuPy launch something on the device, and which wait for it.

A call is one launch, unless it makes a view, reserves memory or asks for what the host
knows; so are an operator of arrays, what reads or stores entries at arrays of indices,
and what stores entries anywhere. The host waits for entries that it is told, and for
results whose size depends on entries, as of a mask. Whoever counts asks here.
"""

from __future__ import annotations

_VIEWS = """
    as_strided atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_to diagonal
    expand_dims flip fliplr flipud moveaxis ravel reshape rollaxis sliding_window_view
    split squeeze swapaxes transpose view
"""
_RESERVE = "asarray empty empty_like"
_ON_THE_HOST = """
    asnumpy broadcast broadcast_shapes can_cast dtype finfo get iinfo item ndim
    promote_types result_type shape size tolist
"""
_READ = "__bool__ __float__ __index__ __int__ asnumpy get item tolist"
_WAIT = """
    argwhere bincount choose compress extract flatnonzero lexsort lstsq nonzero
    ravel_multi_index sliding_window_view tril_indices triu_indices unique
"""
KERNELS = frozenset(["ElementwiseKernel", "RawKernel", "ReductionKernel"])
"""What makes functions of a module that are one launch each."""
ON_THE_HOST = frozenset(_ON_THE_HOST.split())
"""What returns no array of the device."""
_SILENT = frozenset(f"{_VIEWS} {_RESERVE} {_ON_THE_HOST} {_READ}".split())
_WAITING = frozenset(f"{_READ} {_WAIT}".split())


def launches(name: str) -> bool:
    """Whether a call of a function or method of CuPy, by its last name, launches."""
    return name not in _SILENT


def waits(name: str) -> bool:
    """Whether the host waits in such a call, or in a conversion of an array."""
    return name in _WAITING
