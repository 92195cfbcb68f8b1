"""What CuPy's context managers switch, for the process as a whole."""

from __future__ import annotations

from collections import Counter

linalg = "ignore"
synchronize = True

launched: Counter[str] = Counter()
"""The calls that launch something on a device, by what is called."""
_VIEWS = """
    astype broadcast_to diagonal expand_dims moveaxis ravel reshape sliding_window_view
    squeeze swapaxes transpose view
"""


def launch(name: str, shows: bool = False) -> None:
    """Count a call, unless it makes a view: it `shows` what it is called with.

    So do some that copy where they have to.
    """
    last = name.rpartition(".")[2].strip("_")
    launched[last] += not (shows and last in _VIEWS.split())


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
