"""Options and fixtures of all tests."""

from __future__ import annotations

import gc

import pytest

from tensorgen.emit import render

BLOCK = 10  # random programs in one test


# Graphs live as long as their tests; looking for cycles takes a tenth of the time.
gc.set_threshold(400_000, 20, 20)


@pytest.fixture
def plain_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave modules as the templates make them: layout takes a third of the time."""
    monkeypatch.setattr(render, "layout", lambda source: source)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seeds",
        metavar="START:STOP",
        help="the seeds of the random programs (default: SEEDS of each module)",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seeds" in metafunc.fixturenames:
        wanted = metafunc.config.getoption("--seeds") or metafunc.module.SEEDS
        start, stop = map(int, wanted.split(":"))
        blocks = [range(k, min(k + BLOCK, stop)) for k in range(start, stop, BLOCK)]
        ids = [f"{block.start}:{block.stop}" for block in blocks]
        metafunc.parametrize("seeds", blocks, ids=ids)
