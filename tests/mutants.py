"""Break the compiler in one place after the other, and see whether the tests notice.

`make mutants` takes every derivative row, every rule and a sample of the passes, each
with one fault: a sign flipped, a term dropped, labels or arguments swapped, a number
off by one, a condition negated, a rule that never fires. A process that has loaded all
but the package is forked for each, gets the broken module in place of the right one,
and runs tests until one fails: first those nearest to the module, then all others that
import it in their own process. What survives is listed, with the reason if one is
written down in `tests/mutants_explained.txt`.

A mutant that takes too long counts as caught: each stage may take ten times the
processor time that it takes with nothing broken, and a minute more.
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
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from tests.mutations import Mutant, mutants

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "mutants.txt"
EXPLAINED = ROOT / "tests" / "mutants_explained.txt"
EQUIVALENT = "Equivalent"  # how the reason of a mutant starts that changes nothing
LOG = ROOT / "build" / "mutants.jsonl"
PRELOADED = (
    *("numpy", "scipy.linalg", "scipy.special", "scipy.sparse.linalg", "sympy", "yaml"),
    *("jax", "jax.numpy", "jax.scipy", "hypothesis", "black", "jinja2", "click"),
)
# The tests nearest to a module come first; then, from the cheap to the dear, all that
# run the package in their own process. Nobody waits for the last but survivors.
NEAR = {
    "operators/elementwise": ["calculus/test_rows.py", "operators/test_functions.py"],
    "operators/conditions": ["operators/conditions/test_guards.py", "test_excluded.py"],
    "operators/matrices/symmetry": [
        *("operators/matrices/test_symmetry.py", "calculus/test_symmetric.py"),
    ],
    "operators/matrices/definite": ["operators/matrices/test_definite.py"],
    "operators/stable": [
        *("operators/test_rules.py", "operators/test_stable_rules.py"),
        *("operators/test_functions.py", "operators/scans/test_running.py"),
        *("test_naive_texts.py", "test_excluded.py", "test_spellings.py"),
    ],
    "operators/calls": ["operators/test_partials.py", "operators/test_functions.py"],
    "operators/reshape": ["operators/test_transfers.py"],
    "operators/matrices": ["operators/test_transfers.py"],
    "operators": [
        *("operators/test_transfers.py", "operators/test_functions.py"),
        "operators",
    ],
    "calculus": [
        *("lang/test_derivatives.py", "calculus", "emit/test_derivatives.py"),
        *("emit/test_joint_hessians.py", "test_modes.py"),
    ],
    "ir": ["ir/test_sums_and_maps.py", "ir/test_product.py", "ir", "lower"],
    "passes": ["passes"],
    "structure": ["structure", "emit"],
}
STAGES: tuple[tuple[str, ...], ...] = (
    ("test_golden.py",),
    ("operators/test_functions.py", "operators/test_transfers.py", "calculus"),
    ("operators", "cookbook", "passes", "lower", "ir"),
    ("emit", "lang", "test_excluded.py", "test_naive_texts.py"),
    (
        *("test_examples.py", "test_functions.py", "test_graphs.py"),
        *("test_language.py", "test_structures.py", "plans"),
        *("test_from_matrixcalculus.py", "test_found_programs.py"),
        *("test_random_graphs.py", "test_modes.py", "test_effort.py"),
    ),
    (
        *("test_index_notation_against_jax.py", "test_random_programs.py"),
        *("test_definite_matrices.py", "test_device.py", "test_problem_stages.py"),
        *("test_operator_table.py", "test_documents.py", "test_demo.py"),
        *("test_accuracy.py", "test_extremes.py", "test_spellings.py"),
    ),
)


def stages(mutant: Mutant, most: int) -> Iterator[tuple[str, ...]]:
    """Yield the tests to run for a mutant, stage by stage."""
    near = [
        tests
        for place, tests in NEAR.items()
        if mutant.path.startswith(place + "/")
        or mutant.path.removesuffix(".py").startswith(place)
    ]
    path = Path(mutant.path)
    own = str(path.with_name(f"test_{path.name}"))
    if (ROOT / "tests" / own).exists():
        yield (own,)
    for tests in near[:1]:
        yield tuple(tests)
    yield from STAGES[:most]


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


def _outcome(tests: Sequence[str]) -> str:
    import pytest

    class Watch:
        failed = ""

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed and not self.failed:
                self.failed = report.nodeid

        def pytest_collectreport(self, report: pytest.CollectReport) -> None:
            if report.failed and not self.failed:
                self.failed = report.nodeid

    watch = Watch()
    paths = [str(ROOT / "tests" / test) for test in tests]
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no"]
    options += ["-m", "not browser"]  # those that take long, too
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = pytest.main([*options, f"--rootdir={ROOT}", *paths], [watch])
    if code == 0:
        return "passed"
    return watch.failed or f"pytest ends with {int(code)}"


class Runner:
    """Runs stages, and knows how long each takes with nothing broken."""

    def __init__(self) -> None:
        self._usual: dict[tuple[str, ...], float] = {}

    def usual(self, tests: tuple[str, ...]) -> float:
        """Return the seconds of processor time that tests take on the right code."""
        if tests not in self._usual:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            outcome = run_tests(None, tests, 3600)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if outcome != "passed":
                raise SystemExit(f"with nothing broken: {outcome}")
            self._usual[tests] = after.ru_utime - before.ru_utime
            print(f"{self._usual[tests]:7.1f} s  {' '.join(tests)}", flush=True)
        return self._usual[tests]

    def judge(self, mutant: Mutant, most: int, done: int = -1) -> str:
        """Return what catches a mutant, or "" if it survives; skip what is done."""
        known = len([*stages(mutant, done)]) if done >= 0 else 0
        for tests in [*stages(mutant, most)][known:]:
            outcome = run_tests(mutant, tests, 10 * self.usual(tests) + 60)
            if outcome != "passed":
                return outcome
        return ""


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
    parser.add_argument("--stages", type=int, default=len(STAGES), help="at most")
    parser.add_argument("--only", default="", help="mutants whose names hold this")
    parser.add_argument("--list", action="store_true", help="only list them")
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
    caught = judge_all(chosen, given.stages, end)
    text = report(caught, len(chosen))
    print(text)
    if not given.only:
        RESULTS.write_text(text, "utf-8")


def judge_all(chosen: Sequence[Mutant], most: int, end: float) -> dict[str, str]:
    """Return what catches each mutant; goes on where an earlier run has ended."""
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    for module in PRELOADED:
        __import__(module)
    LOG.parent.mkdir(exist_ok=True)
    lines = LOG.read_text("utf-8").splitlines() if LOG.exists() else []
    known = {name: (by, n) for name, by, n in map(json.loads, lines)}
    runner, caught = Runner(), {}
    for number, mutant in enumerate(chosen, 1):
        by, stages_done = known.get(mutant.name, ("", -1))
        start = time.monotonic()
        if not by and stages_done < most:
            if start > end:
                continue
            by = runner.judge(mutant, most, stages_done)
            with LOG.open("a", encoding="utf-8") as log:
                log.write(json.dumps([mutant.name, by, most]) + "\n")
            took = time.monotonic() - start
            what = f"caught by {by}" if by else "SURVIVED"
            print(
                f"{number}/{len(chosen)} {mutant.name}: {what}, {took:.0f} s",
                flush=True,
            )
        caught[mutant.name] = by
    return caught


if __name__ == "__main__":
    main()
