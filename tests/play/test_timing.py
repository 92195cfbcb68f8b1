"""Times are of one call, however coarse the clock is."""

from __future__ import annotations

import time

import pytest

from tensorgen.play import timing


@pytest.mark.parametrize("tick", [1e-7, 1e-4])
@pytest.mark.parametrize("needs", [3e-6, 5e-4, 0.07, 0.5])
def test_the_time_of_a_call_is_told_by_a_coarse_clock(
    tick: float, needs: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    calls = []

    def call() -> None:
        calls.append(needs)
        now[0] += needs

    monkeypatch.setattr(time, "perf_counter", lambda: now[0] // tick * tick)
    assert timing._seconds(call) == pytest.approx(needs, rel=0.05)
    assert now[0] < max(0.3, 3 * needs)
