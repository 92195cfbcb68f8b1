"""Sentences that what chooses a form has for who reads code of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

RETURNED = "return"
"""In place of a name, for what is returned."""


@dataclass(frozen=True)
class Remark:
    """A sentence about a form that is taken: what it is, and why.

    It stands above the first statement of it that has the `form`, a regular expression:
    a form that is gone has no comment. It is `plain` already to who has written one of
    some functions himself.
    """

    sentence: str
    form: str
    plain: tuple[str, ...] = ()


Remarks = Mapping[Remark, frozenset[str]]
"""What is told of statements that bind some names, or of any where there are none."""


def merged(all_of: Iterable[Remarks]) -> Remarks:
    """Return what is told of several codes."""
    found: dict[Remark, frozenset[str]] = {}
    for remarks in all_of:
        for remark, names in remarks.items():
            found[remark] = found.get(remark, frozenset()) | names
    return found
