"""Break the compiler in one place after the other, and see whether the tests notice.

`make mutants` takes every derivative row, every rule and a sample of the passes, each
with one fault: a sign flipped, a term dropped, labels or arguments swapped, a number
off by one, a condition negated, a rule that never fires. A process that has loaded all
but the package is forked for each, gets the broken module in place of the right one,
and runs tests until one fails: those that reach the broken block of statements
(`tests/reach.py`, whose run comes first), the cheap before the dear and a file at a
time, up to a bound in seconds. What survives is listed, with the reason if one is
written down in `tests/mutants_explained.txt`; tests beyond the bound may catch it.

A mutant that takes too long counts as caught: tests may take three times the processor
time that they take with nothing broken, and a minute more. A test that catches one has
passed, in a fork like its own, with nothing broken.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple

from tests.blocks import REACHED, ROOT, numbered, version
from tests.mutations import Mutant, mutants

RESULTS = ROOT / "benchmarks" / "results" / "mutants.txt"
EXPLAINED = ROOT / "tests" / "mutants_explained.txt"
EQUIVALENT = "Equivalent"  # how the reason of a mutant starts that changes nothing
LOG = ROOT / "build" / "mutants.jsonl"
PRELOADED = (
    *("numpy", "scipy.linalg", "scipy.special", "scipy.sparse.linalg", "sympy", "yaml"),
    *("jax", "jax.numpy", "jax.scipy", "hypothesis", "black", "jinja2", "click"),
)
# What is broken in a text has no block of its own: the tests of these texts.
OF_TEXTS = {
    "operators/elementwise.py": (
        *("tests/calculus/test_rows.py", "tests/operators/test_functions.py"),
        "tests/operators/test_transfers.py",
    ),
    "operators/stable/rules.py": (
        *("tests/operators/test_rules.py", "tests/operators/test_stable_rules.py"),
        *("tests/operators/test_functions.py", "tests/test_naive_texts.py"),
        *("tests/operators/scans/test_running.py", "tests/test_excluded.py"),
        "tests/test_spellings.py",
    ),
}


FILES_PER_SECOND = 0.5
"""To import a file of tests takes seconds, too: so many are asked."""


class Reached(NamedTuple):
    """A test that reaches a block, and the seconds that it takes."""

    test: str
    seconds: float


class Reach:
    """Knows which tests reach which blocks, from the run of all of them."""

    def __init__(self) -> None:
        self.by_block: dict[int, list[Reached]] = defaultdict(list)
        self.by_file: dict[str, float] = defaultdict(float)
        self.blocks = numbered()
        for file in sorted(REACHED.glob("*.jsonl")):
            own, *lines = file.read_text("utf-8").splitlines()
            if own != version():
                raise SystemExit(f"{REACHED} is of other code: it has to be made anew")
            for line in lines:
                test, seconds, reached = json.loads(line)
                self.by_file[_file(test)] += seconds
                for block in reached:
                    self.by_block[block].append(Reached(test, seconds))

    def tests(self, mutant: Mutant, most: float) -> list[Reached]:
        """Return tests of a mutant, in the order to run them, of some seconds."""
        around = [
            (last - first, block)
            for block, (first, last) in self.blocks[mutant.path].items()
            if first <= mutant.line <= last
        ]
        found = self.by_block[min(around)[1]] if around else []
        if not found:  # it runs when it is imported
            texts = OF_TEXTS.get(mutant.path, ())
            return [Reached(file, self.by_file[file]) for file in texts]
        by_file: dict[str, list[Reached]] = defaultdict(list)
        for reached in sorted(found, key=lambda r: (r.seconds, r.test)):
            by_file[_file(reached.test)].append(reached)
        own = Path("tests", mutant.path)

        def distance(file: str) -> tuple[int, float]:
            """How far a file of tests is, in folders, and how dear its first test."""
            common = os.path.commonpath([own, file.replace("/test_", "/")])
            return -len(Path(common).parts), by_file[file][0].seconds

        near = sorted(by_file, key=distance)
        chosen, left, files = [], most, set[str]()
        for reached in chain.from_iterable(zip_longest(*(by_file[f] for f in near))):
            if reached is None or reached.seconds > left:
                continue
            file = _file(reached.test)
            if file in files or len(files) < most * FILES_PER_SECOND:
                files.add(file)
                chosen.append(reached)
                left -= reached.seconds
        return chosen


class Broken:
    """Finds one module of the package with other text than its file has."""

    def __init__(self, mutant: Mutant) -> None:
        inner = mutant.path.removesuffix(".py").replace("/", ".")
        self.is_package = inner.endswith(".__init__")
        self.name = "tensorgen." + inner.removesuffix(".__init__")
        self.text = mutant.text
        self.file = str(ROOT / "tensorgen" / mutant.path)

    def find_spec(self, name: str, *_: object) -> object:
        """Find the broken module, and no other."""
        from importlib.util import spec_from_loader

        if name != self.name:
            return None
        found = spec_from_loader(
            name,
            self,  # type: ignore[arg-type]
            origin=self.file,
            is_package=self.is_package,
        )
        if found is not None and self.is_package:
            found.submodule_search_locations = [str(Path(self.file).parent)]
        return found

    def create_module(self, spec: object) -> None:
        """Leave making the module to the system."""

    def exec_module(self, module: object) -> None:
        """Run the broken text."""
        exec(compile(self.text, self.file, "exec"), vars(module))


def run_tests(mutant: Mutant | None, tests: Sequence[str], limit: float) -> str:
    """Run tests in a fork and return how that ended: "passed", or what failed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            said = pipe.read().decode("utf-8", "replace")
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            late = os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
            return "too long" if late else f"signal {os.WTERMSIG(status)}"
        return said or f"exit {os.waitstatus_to_exitcode(status)}"
    try:
        os.close(reader)
        seconds = int(limit) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        # Hypothesis finds the same examples in each run.
        os.environ["PYTEST_ADDOPTS"] = "--hypothesis-seed=0"
        if mutant is not None:
            sys.meta_path.insert(0, Broken(mutant))  # type: ignore[arg-type]
        os.write(writer, _outcome(tests).encode())
    finally:
        os._exit(0)


def _file(test: str) -> str:
    return test.partition("::")[0]


def _outcome(tests: Sequence[str]) -> str:
    import pytest

    class Watch:
        failed = ""

        def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
            """Keep the tests that are asked for, alone or as all of a file."""
            place = {test: k for k, test in enumerate(tests)}
            kept = [x for x in items if {x.nodeid, _file(x.nodeid)} & place.keys()]
            items[:] = sorted(kept, key=lambda x: place.get(x.nodeid, 0))

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed and not self.failed:
                self.failed = report.nodeid

        def pytest_collectreport(self, report: pytest.CollectReport) -> None:
            if report.failed and not self.failed:
                self.failed = report.nodeid

    watch = Watch()
    paths = [str(ROOT / file) for file in dict.fromkeys(map(_file, tests))]
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no"]
    options += ["-m", "not browser"]  # those that take long, too
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = pytest.main([*options, f"--rootdir={ROOT}", *paths], [watch])
    if code in (0, 5):  # or none is left, of those that a mutant has no names for
        return "passed"
    return watch.failed or f"pytest ends with {int(code)}"


class Runner:
    """Runs tests on mutants, and knows which pass with nothing broken."""

    def __init__(self, most: float) -> None:
        self.most = most
        self._sound: dict[str, bool] = {}

    @cached_property
    def reach(self) -> Reach:
        """Which tests reach what: read where one is judged."""
        return Reach()

    def judge(self, mutant: Mutant) -> str:
        """Return what catches a mutant, or "" if it survives."""
        tests = self.reach.tests(mutant, self.most)
        while tests:
            limit = 60 + 3 * sum(reached.seconds for reached in tests)
            outcome = run_tests(mutant, [reached.test for reached in tests], limit)
            if outcome == "passed" or "::" not in outcome or self.sound(outcome):
                return "" if outcome == "passed" else outcome
            tests = [r for r in tests if r.test not in outcome]
        return ""

    def sound(self, test: str) -> bool:
        """Whether a test passes with nothing broken."""
        if test not in self._sound:
            self._sound[test] = run_tests(None, [test], 3600) == "passed"
        return self._sound[test]


def explanations() -> dict[str, str]:
    """Return why known survivors are no loss, by the names of the mutants."""
    found: dict[str, str] = {}
    name = ""
    for line in EXPLAINED.read_text("utf-8").splitlines():
        if line[:1] not in ("", " ", "#"):
            name = line
        elif line.startswith(" ") and name:
            found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return found


def report(caught: dict[str, str], wanted: int) -> str:
    """Return the text of the results, which may be those of a part."""
    known = explanations()
    by_file: dict[str, list[str]] = {"all": []}
    for name, by in sorted(caught.items()):
        same = known.get(name, "").startswith(EQUIVALENT)
        end = "caught" if by else "equivalent" if same else "survived"
        by_file.setdefault(name.partition(":")[0], []).append(end)
        by_file["all"].append(end)
    rows = ["Mutants: faults put into the compiler, and what the tests say.", ""]
    ends = ("caught", "equivalent", "survived")
    rows.append(f"{'module':<44}{'mutants':>12}" + "".join(f"{e:>12}" for e in ends))
    by_file["all"] = by_file.pop("all")  # last
    for file, found in by_file.items():
        counts = "".join(f"{found.count(end):>12}" for end in ends)
        rows.append(f"{file:<44}{len(found):>12}{counts}")
    whole = by_file["all"]
    number = len(whole)
    share = whole.count("caught") / max(1, number - whole.count("equivalent"))
    rows += ["", f"Caught of those that are not equivalent: {share:.1%}"]
    if number < wanted:
        rows += ["", f"{wanted - number} more have not been tried yet."]
    rows += ["", "Survivors:"]
    for name, by in sorted(caught.items()):
        if not by:
            rows += [name, f"    {known.get(name, 'not explained')}"]
    return "\n".join(rows) + "\n"


def main() -> None:
    """Judge all mutants, and write down what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=0.2, help="of the passes' rules")
    parser.add_argument("--seconds", type=float, default=60, help="of tests a mutant")
    parser.add_argument("--only", default="", help="mutants whose names hold this")
    parser.add_argument("--list", action="store_true", help="only list them")
    parser.add_argument("--part", default="1/1", help="K/N: every Nth, from the Kth")
    parser.add_argument("--minutes", type=float, default=1e9, help="then stop")
    parser.add_argument("--again", action="store_true", help="forget earlier results")
    given = parser.parse_args()
    chosen = [m for m in mutants(given.seed, given.share) if given.only in m.name]
    # In any order, so that what an interrupted run has seen is a fair sample.
    random.Random(given.seed).shuffle(chosen)
    if given.list:
        print("\n".join(m.name for m in chosen), f"\n{len(chosen)} mutants")
        return
    if given.again:
        LOG.unlink(missing_ok=True)
    end = time.monotonic() + 60 * given.minutes
    caught = judge_all(chosen, given.seconds, end, given.part)
    text = report(caught, len(chosen))
    print(text)
    if not given.only:
        RESULTS.write_text(text, "utf-8")


def judge_all(
    chosen: Sequence[Mutant], most: float, end: float, part: str
) -> dict[str, str]:
    """Return what catches each mutant; goes on where earlier runs have ended."""
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    for module in PRELOADED:
        __import__(module)
    LOG.parent.mkdir(exist_ok=True)
    first, step = map(int, part.split("/"))
    runner, known = Runner(most), judged()
    for number, mutant in list(enumerate(chosen, 1))[first - 1 :: step]:
        by, tried = known.get(mutant.name, ("", 0.0))
        if by or tried >= most or time.monotonic() > end:
            continue
        start = time.monotonic()
        by = runner.judge(mutant)
        with LOG.open("a", encoding="utf-8") as log:
            log.write(json.dumps([mutant.name, by, most]) + "\n")
        what = f"caught by {by}" if by else "SURVIVED"
        took = time.monotonic() - start
        print(f"{number}/{len(chosen)} {mutant.name}: {what}, {took:.0f} s", flush=True)
    known = judged()
    return {m.name: known[m.name][0] for m in chosen if m.name in known}


def judged() -> dict[str, tuple[str, float]]:
    """Return what caught each mutant so far, and the seconds of tests it was given."""
    lines = LOG.read_text("utf-8").splitlines() if LOG.exists() else []
    return {name: (by, most) for name, by, most in map(json.loads, lines)}


if __name__ == "__main__":
    main()
