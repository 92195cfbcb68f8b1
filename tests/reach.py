"""Which tests reach which block of the compiler's code: a plugin of pytest.

`PYTEST_PLUGINS=tests.reach python -m pytest ...` sets a mark at the head of each block
of statements (a function, a branch, a loop) of the package as it is imported, and
writes down which marks each test leaves, and the seconds of processor time it took, to
a file a process in `build/reach`. `tests/mutants.py` chooses tests by them.

What a fixture of a module or a session reaches, all tests of the file reach. A test
that finds in a cache what another test has made is not seen to reach it: the other is.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from tests.blocks import REACHED, bodies, numbered, version
from tests.mutations import PACKAGE


class Marking(SourceFileLoader):
    """Loads a module of the package with a mark at the head of each block."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the text with its marks; nothing is cached."""
        path = Path(self.path)
        tree = ast.parse(path.read_text("utf-8"))
        numbers = NUMBERED[path.relative_to(PACKAGE).as_posix()]
        for number, body in zip(numbers, bodies(tree), strict=True):
            mark = ast.parse(f"__marks__[{number}] = 1").body[0]
            told = isinstance(body[0], ast.Expr) and isinstance(
                body[0].value, ast.Constant
            )
            for node in ast.walk(mark):
                ast.copy_location(node, body[0])
            body.insert(1 if told else 0, mark)
        return compile(tree, self.path, "exec")

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, which finds the marks under one name."""
        vars(module)["__marks__"] = MARKS
        super().exec_module(module)


class Finder:
    """Finds the modules of the package, and no others."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        """Find a module with its marks."""
        if name.partition(".")[0] != "tensorgen":
            return None
        found = PathFinder.find_spec(name, path)
        if found is not None and isinstance(found.loader, SourceFileLoader):
            found.loader = Marking(found.loader.name, found.loader.path)
        return found


NUMBERED, VERSION = numbered(), version()
MARKS = bytearray(sum(map(len, NUMBERED.values())))
BY_TEST: dict[str, tuple[float, set[int]]] = {}
BY_FILE: dict[str, set[int]] = defaultdict(set)
sys.meta_path.insert(0, Finder())


def _taken() -> set[int]:
    """Return the marks that are set, and take them away."""
    found, place = set(), MARKS.find(1)
    while place >= 0:
        found.add(place)
        MARKS[place] = 0
        place = MARKS.find(1, place + 1)
    return found


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note what one test reaches."""
    _taken()
    start = time.process_time()
    yield
    BY_TEST[item.nodeid] = time.process_time() - start, _taken()


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Iterator[None]:
    """Note what a fixture of several tests reaches."""
    before = _taken()
    yield
    made = _taken()
    if fixturedef.scope != "function":
        BY_FILE[request.node.nodeid.partition("::")[0]] |= made
    for place in before | made:
        MARKS[place] = 1


def pytest_sessionfinish() -> None:
    """Write down what this process has seen."""
    if not BY_TEST:
        return
    REACHED.mkdir(parents=True, exist_ok=True)
    lines = [VERSION]
    for test, (seconds, marks) in BY_TEST.items():
        whole = marks | BY_FILE[test.partition("::")[0]]
        lines.append(json.dumps([test, round(seconds, 3), sorted(whole)]))
    file = REACHED / f"{os.getpid()}.jsonl"
    file.write_text("\n".join(lines) + "\n", "utf-8")
