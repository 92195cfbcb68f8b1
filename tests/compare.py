"""What is emitted now beside what a revision emits: `python -m tests.compare REVISION`.

The specs of the examples, of the gallery, and of benchmarks/new_specs.txt become
modules for NumPy and CuPy in two trees in turns: in a copy of the revision, and in this
one as it stands, each with a seed of hashing of its own. It prints the modules that
differ, by how many lines and, at the sizes that the spec hints at, flops, then the
seconds of CPU that both trees took, and exits with 1 where anything differs. The
modules stay in build/compare.
"""

from __future__ import annotations

import argparse
import ast
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path

from tensorgen.errors import Source, SpecError
from tensorgen.plans.planner import known_sizes
from tensorgen.prices.thresholds import UNHINTED
from tensorgen.spec.read import read_spec
from tests.corpus.run import parsed

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "build" / "compare"
SEEDS = {"before": "1", "after": "4242"}
COMMAND = ("-m", "tensorgen", "gen", "--anew", "--force", "--quiet")
ALIKE = {
    "OPENBLAS_NUM_THREADS": "1",
    # Both read what the first runs of each have compiled.
    "PYTHONDONTWRITEBYTECODE": "",
    "PYTHONPYCACHEPREFIX": str(KEPT / "bytecode"),
}


def specs() -> dict[str, str]:
    """The texts of all specs, by name."""
    folders = ROOT / "examples", ROOT / "examples" / "gallery"
    paths = [path for folder in folders for path in sorted(folder.glob("*.yaml"))]
    found = {path.stem: path.read_text(encoding="utf-8") for path in paths}
    new = (ROOT / "benchmarks" / "new_specs.txt").read_text(encoding="utf-8")
    return found | {spec.name: spec.text for spec in parsed("new", new)}


@contextmanager
def revision(name: str) -> Iterator[Path]:
    """A copy of the repository as it was."""
    git = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        add = [*git, "add", "--quiet", "--detach", str(tree), name]
        subprocess.run(add, check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def emit(
    tree: Path, seed: str, spec: Path, into: Path, options: Sequence[str]
) -> float:
    """Write the modules of a spec, and what is said of it; return seconds of CPU."""
    words = [sys.executable, *COMMAND, *options, "-o", str(into), str(spec)]
    own = {"PYTHONPATH": str(tree), "PYTHONHASHSEED": seed, **ALIKE}
    into.mkdir(parents=True, exist_ok=True)
    with (into / f"{spec.stem}.txt").open("wb") as said:
        child = subprocess.Popen(
            words, cwd=tree, env=os.environ | own, stdout=said, stderr=said
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.write(b"exit code %d\n" % child.returncode)
    return used.ru_utime + used.ru_stime


def flops(text: str, hints: Mapping[str, int]) -> dict[str, float]:
    """What docstrings say that functions and classes compute, in all of their cases."""
    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            words = re.sub(r"\s+", " ", ast.get_docstring(node) or "")
            told = words.partition("Cost: ")[2].partition(" Raises:")[0]
            counts = re.findall(r"([^:;,]+) flops", told)
            found[node.name] = sum(_number(count, hints) for count in counts)
    return found


def _number(count: str, hints: Mapping[str, int]) -> float:
    names = dict.fromkeys(re.findall(r"\b[^\W\d]\w*", count), UNHINTED)
    return float(eval(count, {"isqrt": math.isqrt, "min": min, **names, **hints}))


def differences(before: Path, after: Path, hints: Mapping[str, int]) -> Iterator[str]:
    """A line for each file that is not the same in two folders."""
    names = {path.name for folder in (before, after) for path in folder.iterdir()}
    for name in sorted(names):
        old, new = read(before / name), read(after / name)
        if old == new:
            continue
        lines = [*unified_diff(old.splitlines(), new.splitlines(), n=0)]
        gained = sum(line[:1] == "+" for line in lines[2:])
        lost = sum(line[:1] == "-" for line in lines[2:])
        yield f"{name}: {gained} lines gained, {lost} lost"
        if name.endswith(".py"):
            counts = flops(old, hints), flops(new, hints)
            for own in sorted({*counts[0], *counts[1]}):
                was, now = (count.get(own, 0.0) for count in counts)
                if was != now:
                    yield f"  {own}: {was:.6g} flops before, {now:.6g} now"


def read(path: Path) -> str:
    """The text of a file, which is empty where there is none."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


def hinted(name: str, text: str) -> dict[str, int]:
    """The sizes that a spec hints at."""
    try:
        return known_sizes(read_spec(Source(name, text), allow_external=True))
    except SpecError:
        return {}


def compare(base: str, options: Sequence[str], jobs: int) -> bool:
    """Print what differs; whether nothing does."""
    shutil.rmtree(KEPT, ignore_errors=True)
    texts = specs()
    with revision(base) as old, ThreadPoolExecutor(jobs) as pool:
        trees = {"before": old, "after": ROOT}
        own = {}
        for name, text in texts.items():
            spec = KEPT / "specs" / f"{name}.yaml"
            spec.parent.mkdir(parents=True, exist_ok=True)
            spec.write_text(text, encoding="utf-8")
            for side, tree in trees.items():
                given = tree, SEEDS[side], spec, KEPT / side / name, options
                own[name, side] = pool.submit(emit, *given)
        try:
            took = {key: future.result() for key, future in own.items()}
        finally:  # who interrupts it waits for no more
            pool.shutdown(cancel_futures=True)
    same = True
    for name, text in texts.items():
        before, after = (KEPT / side / name for side in trees)
        for line in differences(before, after, hinted(name, text)):
            same = False
            print(line)
    sums = [sum(took[name, side] for name in texts) for side in trees]
    print(f"{len(texts)} specs, {'all the same' if same else 'not all the same'}")
    print(f"seconds of CPU: {sums[0]:.1f} before, {sums[1]:.1f} now")
    return same


def main() -> int:
    """Compare with the revision that is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revision", help="what git calls it: main, HEAD~3, a tag")
    parser.add_argument("--checked", action="store_true", help="with the self-check")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    options = ["-b", "numpy", "-b", "cupy", *["--fast"] * (not given.checked)]
    return 0 if compare(given.revision, options, given.jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
