"""What CuPy's context managers switch, for the process as a whole."""

from __future__ import annotations

import runpy
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# What runs emitted modules must do without the package.
LAW = runpy.run_path(str(ROOT / "tensorgen" / "emit" / "launches" / "law.py"))

linalg = "ignore"
synchronize = True

launched: Counter[str] = Counter()
"""The calls that launch something on a device, by what is called."""


def launch(name: str) -> None:
    """Count a call if it launches something, and wait if it waits for that."""
    last = name.rpartition(".")[2]
    launched[last.strip("_")] += LAW["launches"](last)
    if LAW["waits"](last):
        declare_synchronize()


waits = 0
"""How often the host has waited for the device."""


class DeviceSynchronized(RuntimeError):
    """Raised where something waits for the device that was told not to."""


def declare_synchronize() -> None:
    """Count that the host waits for the device; raise if it may not now."""
    global waits
    waits += 1
    if not synchronize:
        raise DeviceSynchronized(
            "Device synchronization was detected while disallowed."
        )
