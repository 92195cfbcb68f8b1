"""Making a failing spec smaller while it fails in the same way."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

TOKEN = re.compile(rb"\n *|\w+|\s+|.", re.DOTALL)


def smaller(
    data: bytes, fails: Callable[[bytes], bool], seconds: float = 60.0
) -> bytes:
    """Return a part of the data that still fails: lines are dropped, then tokens."""
    end = time.monotonic() + seconds
    for pieces in (lambda d: d.splitlines(keepends=True), TOKEN.findall):
        data = _dropped(list(pieces(data)), fails, end)
    return data


def _dropped(pieces: list[bytes], fails: Callable[[bytes], bool], end: float) -> bytes:
    """Drop runs of pieces, half as long each time, as long as it still fails."""
    length = max(len(pieces) // 2, 1)
    while length and time.monotonic() < end:
        at = 0
        while at < len(pieces) and time.monotonic() < end:
            left = pieces[:at] + pieces[at + length :]
            if left and fails(b"".join(left)):
                pieces = left
            else:
                at += length
        length //= 2
    return b"".join(pieces)
