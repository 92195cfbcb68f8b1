"""From a seed to what became of its specs: one, or the states of a walk."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.hostile.corpus import specs
from tests.hostile.grown import grown, step
from tests.hostile.judge import Verdict
from tests.hostile.mutate import CHANGES
from tests.hostile.structure import structure_changed

WAYS = ("grown", "walk", "structure", "changed", "grown", "changed")
_STEPS = 6  # of a walk
_LONG = 20.0  # seconds after which a walk ends: its next specs would take as long
_LAID_OUT = 20  # of so many seeds one is laid out, which takes a third of the time


class Outcome(NamedTuple):
    """What became of one spec of a seed."""

    seed: int
    way: str
    data: bytes
    verdict: Verdict


Judge = Callable[[bytes, bool], Verdict]


def outcomes(seed: int, judged: Judge) -> Iterator[Outcome]:
    """Yield the specs of a seed with their verdicts."""
    chance = random.Random(seed)
    way = WAYS[seed % len(WAYS)]
    found = _walk(chance, judged) if way == "walk" else _one(seed, way, chance, judged)
    for data, verdict in found:
        yield Outcome(seed, way, data, verdict)


def _one(
    seed: int, way: str, chance: random.Random, judged: Judge
) -> Iterator[tuple[bytes, Verdict]]:
    text: str | bytes
    if way == "grown":
        text = grown(chance).text()
    elif way == "structure":
        text = structure_changed(chance.choice(specs()), chance)
    else:
        text = chance.choice(CHANGES)(chance.choice(specs()), chance)
    data = _encoded(text)
    yield data, judged(data, seed % _LAID_OUT == 0)


def _walk(chance: random.Random, judged: Judge) -> Iterator[tuple[bytes, Verdict]]:
    """Edit a spec step by step, and go on from the last state that compiled."""
    spec, last = grown(chance), None
    for _ in range(_STEPS):
        data = _encoded(spec.text())
        verdict = judged(data, False)
        yield data, verdict
        if verdict.seconds > _LONG:
            return
        if verdict.kind == "module":
            last = spec.copy()
        if last is None:
            spec = grown(chance)
        else:
            spec = last.copy()
            step(spec)


def _encoded(text: str | bytes) -> bytes:
    if isinstance(text, bytes):
        return text
    return text.encode("utf-8", "surrogatepass")
