"""What a page may ask for, what that may take, and how it is read.

It is the same on a server, which does each job in a process of its own, and in a
browser without one, where a worker of the browser is the process.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

JOBS = ("translate", "compile", "explain", "check", "time")
MIB = 2**20


@dataclass(frozen=True)
class Budget:
    """What a request may take: seconds, and bytes of memory, of itself, of its answer.

    Of requests some run at a time and some wait; others are told to come again.
    """

    seconds: float = 30.0
    memory: int = 2048 * MIB
    request: int = MIB // 4
    answer: int = 32 * MIB
    running: int = 2
    waiting: int = 8

    @property
    def late(self) -> str:
        """Why a job was stopped whose time was over."""
        limit = f"{self.seconds:g} seconds allowed for a request"
        return f"it took longer than the {limit}"


FELL = "it exceeded the limits of memory or time of a request"
"""Why there is no answer of a job that nobody stopped."""


class RefusedError(ValueError):
    """What was sent is no request: why, and HTTP's number of that."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code
        self.why = why


def read_request(body: bytes, budget: Budget) -> dict[str, Any]:
    """Return what a page sent; raises `RefusedError` where it is too long or no JSON.

    Of what is too long the beginning is enough.
    """
    if len(body) > budget.request:
        raise RefusedError(413, f"more than {budget.request:,} bytes")
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise RefusedError(400, "this is no JSON") from None
    if not isinstance(given, dict):
        raise RefusedError(400, "an object is expected")
    return given
