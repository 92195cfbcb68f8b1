"""Options and fixtures of all tests."""

from __future__ import annotations

import gc

import pytest

BLOCK = 10  # random programs in one test


# Graphs live as long as their tests; looking for cycles takes a tenth of the time.
gc.set_threshold(50_000, 20, 50)


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
