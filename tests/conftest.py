"""Options and fixtures of all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from zlib import crc32

# Tests fill all cores: threads that wait for a busy one take several times as long.
# NumPy asks once, when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
# What JAX compiles for a test runs once: to optimise it takes longer than it saves.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# Tests start a hundred processes: what one compiles of the sources serves the others.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import pytest
from hypothesis import settings

from tensorgen.check import Claim, Report
from tensorgen.emit import layout
from tensorgen.plans import claims
from tests.device.library import stand_in
from tests.made import as_printed
from tests.slow import SLOW

LONG = frozenset(SLOW.read_text("utf-8").splitlines())
BLOCK = 10  # random programs in one test


# Graphs live as long as their tests; looking for cycles takes a tenth of the time.
gc.set_threshold(2_000_000, 20, 20)


CHECKED = (
    *("tests/check/", "tests/cli/", "tests/test_golden.py", "tests/test_documents.py"),
    *("tests/row_blocks/test_self_check.py", "tests/row_blocks/test_every_size.py"),
    *("tests/hostile/test_slice.py", "tests/test_found_programs.py"),
    *("tests/test_random_programs.py", "tests/test_structures.py"),
)
"""Where functions are held against calculus when they are made, as users have it."""

LEFT_OUT = (
    *("tests/check/test_nothing_unchecked.py", "tests/check/test_planted_faults.py"),
    "tests/verify/test_derivative_claims.py",
)
"""Where functions may be left out: tests of what is told of these, or too large."""

LAID_OUT = (
    *("tests/cli/", "tests/emit/", "tests/hostile/", "tests/play/"),
    *("tests/test_golden.py", "tests/test_package.py"),
    *("tests/test_joint_systems.py", "tests/test_spellings.py"),
    *("tests/operators/conditions/test_guards.py", "tests/passes/test_names.py"),
)
"""Where modules are laid out, as users read them."""


# How long an example takes on a busy machine says nothing about what is tested.
settings.register_profile("tensorgen", deadline=None)
settings.load_profile("tensorgen")


@pytest.fixture
def cupy() -> Iterator[ModuleType]:
    """The stand-in for CuPy, imported in place of a CuPy that may be installed."""
    with stand_in() as module:
        yield module


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A Chromium, for tests of pages; what pages are made of is tested without one."""
    from tests.play.browser import NoBrowserError, browser  # no other tests need it

    try:
        with browser() as found:
            yield found
    except NoBrowserError as error:
        pytest.skip(str(error))  # no Chromium on this machine


@pytest.fixture(scope="module", autouse=True)
def unchecked(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave out the check of each function, but for tests that are about it.

    Other tests make hundreds of small modules to hold their values against something
    else than calculus; what the check could tell of these, fuzzing and the tests of
    the check, the command line, golden files and random programs tell, and all of them
    with `--checked`. Where functions are checked, none may be left out.
    """
    name = request.node.nodeid
    with pytest.MonkeyPatch.context() as patch:
        if not (request.config.getoption("--checked") or name.startswith(CHECKED)):
            patch.setattr(claims, "check", lambda *given: Report())
        elif not name.startswith(LEFT_OUT):
            patch.setattr(Report, "leave", refuse)
        yield


def refuse(report: Report, claim: Claim, why: str) -> None:
    """Raise what makes a test fail: a function was not checked."""
    raise AssertionError(f"{claim.name} was not checked: {why}")


@pytest.fixture(scope="module", autouse=True)
def plain_layout(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave modules as the templates make them: layout takes a third of the time."""
    with pytest.MonkeyPatch.context() as patch:
        if not request.node.nodeid.startswith(LAID_OUT):
            patch.setattr(layout, "layout", as_printed)
        yield


def pytest_collection_finish() -> None:
    """Let no search for cycles look at what lives as long as the process."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--checked",
        action="store_true",
        help="hold the functions of all specs against calculus, as users have it",
    )
    parser.addoption(
        "--seeds",
        metavar="START:STOP",
        help="the seeds of the random programs (default: SEEDS of each module)",
    )
    parser.addoption(
        "--part",
        metavar="K/N",
        default="1/1",
        help="every Nth test from the Kth on, in an order that its name gives it",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Keep a part of the tests, whoever else is collected beside them.

    Those that took long when they were timed are told apart before.
    """
    for item in items:
        if item.nodeid in LONG:
            item.add_marker("thorough")
    part, parts = map(int, config.getoption("--part").split("/"))
    by_part: list[list[pytest.Item]] = [[] for _ in range(parts)]
    for item in items:
        by_part[crc32(item.nodeid.encode()) % parts].append(item)
    items[:] = by_part.pop(part % parts)
    config.hook.pytest_deselected(items=[x for others in by_part for x in others])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seeds" in metafunc.fixturenames:
        wanted = metafunc.config.getoption("--seeds") or metafunc.module.SEEDS
        start, stop = map(int, wanted.split(":"))
        blocks = [range(k, min(k + BLOCK, stop)) for k in range(start, stop, BLOCK)]
        ids = [f"{block.start}:{block.stop}" for block in blocks]
        metafunc.parametrize("seeds", blocks, ids=ids)
