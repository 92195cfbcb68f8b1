"""Which definitions step together, and when they are read."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from tensorgen.lang.syntax import Expression, names_in
from tensorgen.spec.model import Definition

Line = tuple[Definition, Expression | None]


def mentioned(body: Expression | None) -> set[str]:
    """The names in an expression."""
    return set() if body is None else names_in(body.tree)


def units(lines: Sequence[Line]) -> list[tuple[Line, ...]]:
    """Return definitions one by one, and together those that step together.

    What is made step by step comes at its last definition, and before all that it is
    mentioned in.
    """
    needs: dict[str, set[str]] = {}
    for definition, body in lines:
        needs.setdefault(definition.name, set()).update(mentioned(body))
    groups = _groups(lines, {name: found & {*needs} for name, found in needs.items()})
    last = {groups[d.name]: k for k, (d, _) in enumerate(lines) if d.name in groups}
    waiting: list[tuple[Line, ...]] = []
    for k, line in enumerate(lines):
        group = groups.get(line[0].name)
        if group is None:
            waiting.append((line,))
        elif last[group] == k:
            waiting.append(tuple(x for x in lines if x[0].name in group))
    found: list[tuple[Line, ...]] = []
    while waiting:
        later = {x[0].name for unit in waiting for x in unit if x[0].name in groups}
        unit = next(x for x in waiting if not (_needed(x) & later))
        waiting.remove(unit)
        found.append(unit)
    return found


def _groups(
    lines: Sequence[Line], needs: Mapping[str, set[str]]
) -> dict[str, frozenset[str]]:
    """The names that step together, for each of them.

    They need each other, or one needs another between whose definitions it stands, or
    which nothing tells how far to go but those that read it.
    """
    tied = {name: set(found) for name, found in needs.items()}
    for definition, _ in lines:
        if definition.gives_entries:
            tied[definition.name].add(definition.name)
    while True:
        groups = _circles(tied)
        spans: dict[frozenset[str], list[int]] = {}
        for k, (definition, _) in enumerate(lines):
            if definition.name in groups:
                spans.setdefault(groups[definition.name], []).append(k)
        more = [
            (name, other)
            for name, found in needs.items()
            for other in sorted(found)
            if name in groups and other in groups and groups[name] != groups[other]
            if spans[groups[name]][0] < spans[groups[other]][-1]
            if spans[groups[other]][0] < spans[groups[name]][-1]
        ]
        more = (
            more
            or [
                (name, other)
                for other in sorted(groups)
                if _is_open(
                    [x for x in lines if x[0].name in groups[other]], groups[other]
                )
                for name in [x[0].name for x in lines if other in needs[x[0].name]]
                if name in groups and groups[name] != groups[other]
            ][:1]
        )
        if not more:
            return groups
        for name, other in more:
            tied[other].add(name)


def _is_open(lines: Sequence[Line], names: frozenset[str]) -> bool:
    """Whether steps read nothing of others at their index, and state no range."""
    for definition, body in lines:
        own = names & mentioned(body)
        if body is None or any(definition.ranges):
            return False
        places = definition.places or definition.indices or ()
        if not own and definition.gives_entries:
            if not all(x.value.isdigit() for x in places if x.value != ":"):
                return False
            continue
        for tree in ast.walk(body.tree):
            if isinstance(tree, ast.Subscript) and not names_in(tree.value) & names:
                return False
    return True


def _needed(unit: Sequence[Line]) -> set[str]:
    """The names that definitions mention, but for their own."""
    own = {definition.name for definition, _ in unit}
    return set[str]().union(*(mentioned(body) for _, body in unit)) - own


def _circles(needs: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    """The names that need each other or themselves, for each of them."""
    reach = {name: set(found) for name, found in needs.items()}
    for middle in reach:
        for found in reach.values():
            if middle in found:
                found |= reach[middle]
    return {
        name: frozenset(x for x in found if name in reach[x])
        for name, found in reach.items()
        if name in found
    }


def steps(unit: Sequence[Line]) -> bool:
    """Whether definitions are steps: they give some entries, or need themselves."""
    names = {definition.name for definition, _ in unit}
    if len(unit) > 1 or unit[0][0].gives_entries:
        return True
    return not names.isdisjoint(mentioned(unit[0][1]))
