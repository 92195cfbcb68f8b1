"""The stand-in's views by strides."""

from numpy.lib import stride_tricks

from .._array import lifted

__all__ = ["as_strided", "sliding_window_view"]

as_strided = lifted(stride_tricks.as_strided, "as_strided")
sliding_window_view = lifted(stride_tricks.sliding_window_view, "sliding_window_view")
