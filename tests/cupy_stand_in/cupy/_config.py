"""What CuPy's context managers switch, for the process as a whole."""

from __future__ import annotations

linalg = "ignore"
synchronize = True


class DeviceSynchronized(RuntimeError):
    """Raised where something waits for the device that was told not to."""


def declare_synchronize() -> None:
    """Raise if the host may not wait for the device now."""
    if not synchronize:
        raise DeviceSynchronized(
            "Device synchronization was detected while disallowed."
        )
