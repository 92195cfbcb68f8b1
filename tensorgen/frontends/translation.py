"""What a front end returns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Translation:
    """The text of a spec, and what whoever reads it should know.

    `spec` is a whole spec, with comments; `remarks` are sentences: what was assumed,
    what has no counterpart and was left out.
    """

    spec: str
    remarks: tuple[str, ...] = ()
