"""The stand-in's views by strides."""

from numpy.lib import stride_tricks

from .._array import lifted

__all__ = ["as_strided", "sliding_window_view"]

_HERE = "cupy.lib.stride_tricks"
as_strided = lifted(stride_tricks.as_strided, f"{_HERE}.as_strided")
sliding_window_view = lifted(
    stride_tricks.sliding_window_view, f"{_HERE}.sliding_window_view"
)
