"""The table of errors: every function on fine grids."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tensorgen.emit import layout
from tests.accuracy.forms import FORMS, Form, points
from tests.accuracy.measure import BOUND, Error, judged, load
from tests.made import as_printed

RESULTS = Path("benchmarks/results/accuracy.txt")
HEAD = f"""\
Errors of values and of first and second derivatives, as generated, against mpmath.

An error is the difference from the truth, less the smallest normal number, relative to
the truth. Errors above {BOUND / 10:g} count without what a change of each argument by
one unit in its last place explains. Where the truth is larger than every number,
infinity of its sign is asked for. At most {BOUND:g}.

function            order  points     error  where the error is largest
"""


def table(k: int) -> list[Error]:
    """Return the largest errors of one form."""
    form = FORMS[k]
    # Numbers are looked at here, not text: laying it out is half of the time.
    layout.layout = as_printed
    return list(judged(load([form]), 0, form, points(form, fine=True)))


def line(error: Error) -> str:
    """Return a line of the table."""
    where = ", ".join(f"{x:.6g}" for x in error.at)
    start = f"{error.text:<20}{error.order:>5}{error.points:>8}{error.worst:>10.1e}"
    return f"{start}  {where}".rstrip()


def main(arguments: list[str]) -> int:
    """Write the table; 1 where an error is above the bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    with ProcessPoolExecutor(
        os.cpu_count(), mp_context=multiprocessing.get_context("spawn")
    ) as pool:
        found: list[list[Error]] = []
        for errors in pool.map(table, range(len(FORMS))):
            print(f"{len(found) + 1:>4} of {len(FORMS)}  {errors[0].text}", flush=True)
            found.append(errors)
    text = HEAD + "".join(line(e) + "\n" for errors in found for e in errors)
    text += "\nJudged less strictly, and why:\n"
    for form in FORMS:
        if form.why:
            text += f"{form.text:<20}{limits(form)}{form.why}\n"
    given.results.write_text(text, encoding="utf-8")
    worst = [e for errors in found for e in errors if not e.worst <= BOUND]
    for e in worst:
        print(f"{line(e)}: got {e.got!r}, true {e.true!r}", file=sys.stderr)
    return int(bool(worst))


def limits(form: Form) -> str:
    """Return what arguments and errors are limited to."""
    low, high = form.sizes
    parts = []
    if (low, high) != Form("", form.exact).sizes:
        parts.append(f"sizes {low:g} to {high:g}")
    if form.least:
        parts.append(f"relative to {form.least:g} at least")
    if form.whole:
        parts.append("relative to the largest derivative")
    return ", ".join(parts) + ": "
