"""What shared labels join: the connected groups of things that bear labels."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import TypeVar

L = TypeVar("L", bound=Hashable)


def connected(bearing: Iterable[Collection[L]]) -> list[tuple[set[L], list[int]]]:
    """The labels and places of each group that shared labels join.

    A group stands where its last member does; what bears no label is one by itself.
    """
    groups: list[tuple[set[L], list[int]]] = []
    for place, labels in enumerate(bearing):
        touched = [group for group in groups if not group[0].isdisjoint(labels)]
        groups = [group for group in groups if group[0].isdisjoint(labels)]
        places = sorted(k for _, own in touched for k in own)
        groups.append(({*labels}.union(*(g for g, _ in touched)), [*places, place]))
    return groups
