"""Specs as people of many fields write them: `python -m tests.corpus.run [--fields …]`.

A field's specs stand in `tests/corpus/FIELD.txt`, each under `=== name`. They were
written from textbooks, without a look at how the compiler works, and are kept as first
written. Where the first attempt was refused and a hint was followed, it stands under
`--- first`, and under `--- said` what was said about it. What does not end well has its
verdict under `--- verdict`.

Each spec is generated for NumPy in a process of its own, with the check of what is
emitted, and the module is imported. All are forked from one that has imported all.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import resource
import runpy
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import black
import jinja2
import numpy as np
import yaml

from tensorgen import cli, pipeline
from tensorgen.plans import claims

# What a run imports where it is needed: here once, for all that are forked.
WARM = (black, jinja2, np, yaml, claims, pipeline)

HERE = Path(__file__).parent
RESULTS = Path("benchmarks/results/corpus.txt")
LIMIT, SLOW = 60, 20
"""Seconds of CPU: after which a spec is given up, and beyond which it is slow."""
ENDINGS = {0: "fine", 2: "refused"}
RAISED = 70
"""The exit code where the command line raises, or the module that it has written."""


class Ended(NamedTuple):
    """What a process has left."""

    code: int
    out: str
    err: str
    seconds: float


@dataclass(frozen=True)
class Spec:
    """A spec of the corpus, and what is known of it."""

    field: str
    name: str
    text: str
    first: str | None
    said: str
    verdict: str | None

    @property
    def expected(self) -> str:
        """The verdict that the corpus holds."""
        return self.verdict or ("hint followed" if self.first else "fine")


@dataclass(frozen=True)
class Outcome:
    """What came of a spec."""

    verdict: str
    seconds: float
    told: str = ""


def fields() -> list[str]:
    """The names of the fields."""
    return sorted(path.stem for path in HERE.glob("*.txt"))


def specs(field: str) -> list[Spec]:
    """The specs of a field, in the order of its file."""
    return parsed(field, (HERE / f"{field}.txt").read_text())


def parsed(field: str, text: str) -> list[Spec]:
    """The specs of a text, in their order."""
    found = []
    for part in re.split(r"^=== ", text, flags=re.M)[1:]:
        name, rest = part.split("\n", 1)
        text, *notes = re.split(r"^--- (?=\w+$)", rest, flags=re.M)
        under = dict(note.split("\n", 1) for note in notes)
        verdict = under.get("verdict", "").strip() or None
        found.append(
            Spec(field, name, text, under.get("first"), under.get("said", ""), verdict)
        )
    return found


def _forked(arguments: Sequence[str], module: Path | None = None) -> Ended:
    """Run the command line in a fork of this process, which has all imported.

    Also the module that it writes, to the end of which its lines have to come.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            code = 1
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 2))
                sys.argv = ["tensorgen", *arguments]
                code = _left(cli.main)
                if not code and module is not None:
                    runpy.run_path(str(module))
            except BaseException:
                traceback.print_exc()
                code = RAISED
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _, status, used = os.wait4(child, 0)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode())
    code = os.waitstatus_to_exitcode(status)
    return Ended(code, texts[0], texts[1], used.ru_utime + used.ru_stime)


def _left(main: Callable[[], None]) -> int:
    try:
        main()
    except SystemExit as left:
        return int(left.code or 0)
    return 0


def generated(text: str, told_as: str = "text") -> tuple[Outcome, str]:
    """Generate the module of a text and import it; also all that was said."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spec.yaml"
        path.write_text(text)
        options = ["-b", "numpy", "-o", folder, "--format", told_as]
        name = re.search(r"^module: *(\w+)", text, re.M)
        module = Path(folder) / f"{name[1] if name else 'spec'}_numpy.py"
        ended = _forked(["gen", *options, str(path)], module)
        # Where that is JSON, standard error may tell how far it is.
        told = ended.out if told_as == "json" else ended.out + ended.err
        said = told.replace(f"{folder}/", "")
        if ended.code < 0 or ended.seconds >= LIMIT:
            return Outcome("slow", ended.seconds), said
        verdict = ENDINGS.get(ended.code, "fault of ours")
        if verdict == "fine":
            verdict = "slow" if ended.seconds > SLOW else verdict
        told = ended.err if verdict == "fault of ours" else ""
        return Outcome(verdict, ended.seconds, told), said


def outcome(spec: Spec) -> Outcome:
    """What comes of a spec, and of its first attempt where it has one."""
    found, said = generated(spec.text, "json")
    told = json.loads(said) if said.startswith("[") else []
    if found.verdict != "fine":
        lines = [entry["message"] for entry in told] or said.strip().split("\n")[-1:]
        return Outcome(found.verdict, found.seconds, found.told or lines[0])
    if spec.first is not None:
        first, said = generated(spec.first)
        if first.verdict == "fine":
            return Outcome("fine", found.seconds)
        if not all(line.strip() in said for line in spec.said.strip().split("\n")):
            return Outcome("hint lost", found.seconds, said.strip().split("\n")[0])
        return Outcome("hint followed", found.seconds, spec.said.strip().split("\n")[0])
    codes = sorted({entry["code"] for entry in told if entry["severity"] == "warning"})
    if codes:
        return Outcome("fine, with warnings " + ", ".join(codes), found.seconds)
    return found


def as_expected(spec: Spec, found: Outcome) -> bool:
    """Whether a spec ended as the corpus says, with warnings or not, soon or late."""
    ways = (found.verdict.partition(",")[0], spec.expected)
    plain = [way.replace("slow", "fine") for way in ways]
    ends = found.seconds < LIMIT or spec.expected == "slow"
    # A hint that is needed no more is no loss.
    same = plain[0] == plain[1] or plain == ["fine", "hint followed"]
    return same and ends


def table(rows: list[tuple[Spec, Outcome]]) -> str:
    """The counts, then a line for each spec."""
    counts = Counter(found.verdict.partition(",")[0] for _, found in rows)
    lines = [f"specs: {len(rows)}"]
    lines += [f"  {verdict:<16}{number:>5}" for verdict, number in counts.most_common()]
    ways = ("fine", "hint followed", "slow")
    well = [x for _, x in rows if x.verdict.partition(",")[0] in ways]
    share = sum(x.seconds < LIMIT for x in well) / len(rows)
    lines += [f"generated, at the first attempt or after one hint: {share:.1%}", ""]
    for spec, found in rows:
        told = f"  {found.told.strip().splitlines()[-1]}" if found.told.strip() else ""
        name = f"{spec.field}/{spec.name}"
        lines.append(f"{name:<44}{found.seconds:>6.1f} s  {found.verdict}{told}")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Run the corpus or some fields of it, and keep what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fields", nargs="+", choices=fields(), default=fields())
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    every = [spec for field in given.fields for spec in specs(field)]
    rows, wrong = [], 0
    with multiprocessing.get_context("fork").Pool(given.jobs) as pool:
        for row in zip(every, pool.imap(outcome, every), strict=True):
            rows.append(row)
            print(table([row]).splitlines()[-1], flush=True)
            wrong += not as_expected(*row)
    given.results.write_text(table(rows))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
