"""What is wrong with the modules of a program, and the report of it."""

from __future__ import annotations

import time
import traceback
import warnings
from types import ModuleType

from tensorgen import load
from tests.programs.check import Expected, check
from tests.programs.shrink import shrink
from tests.programs.tree import RandomProgram

MODES = ("cross-country", "reverse", "forward")
MOST_SECONDS = 60.0  # of processor time for a module: more means that something grows


def modes(seed: int) -> tuple[str, ...]:
    """All modes for every third program, one in turn for the others."""
    return MODES if seed % 3 == 0 else (MODES[seed // 3 % 3],)


def faults(found: RandomProgram) -> list[str]:
    """What is wrong with the modules of a program."""
    expected = Expected(found)
    wrong = []
    for mode in modes(found.seed):
        try:
            start = time.process_time()
            module: ModuleType = load(found.text, mode=mode)
            if (seconds := time.process_time() - start) > MOST_SECONDS:
                wrong.append(f"{mode}: the module took long\n({seconds:.0f} seconds)")
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                wrong += [f"{mode}: {text}" for text in check(expected, module)]
        except Exception:
            wrong.append(f"{mode}: {traceback.format_exc(limit=-3)}")
    return wrong


def _kind(fault: str) -> str:
    """What is wrong, without the mode and the numbers."""
    lines = fault.partition(": ")[2].strip().splitlines()
    return lines[-1] if "Traceback" in lines[0] else lines[0]


def report(found: RandomProgram) -> str:
    """The smallest program found that fails like this one, and how it fails."""
    kinds = {_kind(fault) for fault in faults(found)}

    def fails_alike(candidate: RandomProgram) -> bool:
        return any(_kind(fault) in kinds for fault in faults(candidate))

    small = shrink(found, fails_alike, 40)
    arguments = {name: small.arguments[name] for name in small.used}
    text = [f"seed {found.seed}:", small.text, f"{arguments}", *faults(small)]
    return "\n".join(text)
