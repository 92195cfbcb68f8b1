"""The papers' figures, one table each, with contenders side by side.

Run it as `make papers`, or `python benchmarks/papers.py [L] [T] [J]`; it writes
benchmarks/results/laue.txt, thoad.txt and crossings.txt, in ten minutes at most. Cases
are those of `sets/papers.py`, and are measured as the suite measures its own: compared
before anything is timed, each in a process on one core, in which contenders take turns.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby

import report
import suite
import tables
from cases import Set
from sets import papers
from tables import Row

MINUTES = 10
STARTS = 30.0  # seconds of tracing and compiling, after which no larger size is tried
PACKAGES = ("numpy", "scipy", "jax", "torch", "autograd", "thoad")
Rows = Mapping[str, Row]
Column = tuple[str, Callable[[Rows], str]]


def ms(title: str, name: str) -> Column:
    """Medians of a contender, or in a word why it has none."""

    def shown(rows: Rows) -> str:
        row = rows.get(name)
        if row is None:
            return "-"
        if row.seconds is None:
            # What was wrong at a smaller size is not tried at a larger one.
            return "wrong" if "wrong:" in row.note else row.note.partition(":")[0]
        return tables.figure(1e3 * row.seconds, 4)

    return title, shown


def ratio(title: str, name: str, beside: str) -> Column:
    """How many times as long one takes as the other, by their least times."""

    def shown(rows: Rows) -> str:
        pair = [rows[x].least for x in (name, beside) if x in rows]
        if len(pair) < 2 or not pair[0] or not pair[1]:
            return "-"
        return tables.figure(pair[0] / pair[1], 3)

    return title, shown


def start(title: str, name: str) -> Column:
    """Seconds of the processor before the second call."""

    def shown(rows: Rows) -> str:
        work = rows[name].work if name in rows else None
        return "-" if work is None else f"{work:.2f}"

    return title, shown


@dataclass(frozen=True)
class Layout:
    """What stands above a table, its columns, and what was noted of ours, behind."""

    about: tuple[str, ...]
    columns: tuple[Column, ...]
    noted: str = ""


OURS = "tensorgen"
REVERSE, FORWARD = "tensorgen, reverse", "tensorgen, forward"
PACKED = "tensorgen, compressed"
ALL, ORDERED = "tensorgen, dense", "tensorgen, ordered"
LAYOUTS = {
    "laue": Layout(
        (
            "The Hessian of a logistic regression of 2n samples, of a masked m x m",
            "factorisation of rank 5 by U, and of ten relu layers of n units by the",
            "first. Ours in cross(-country), reverse and forward order has all entries",
            "as those of JAX, torch and autograd; compressed has what its structure",
            "needs. flops are those of reverse and forward order over cross(-country),",
            "as the cost model counts them.",
        ),
        (
            ms("cross", OURS),
            ms("reverse", REVERSE),
            ms("forward", FORWARD),
            ms("compressed", PACKED),
            ms("JAX", "JAX"),
            ms("torch", "torch"),
            ms("autograd", "autograd"),
            ratio("reverse/cross", REVERSE, OURS),
            ratio("JAX/cross", "JAX", OURS),
            ratio("JAX/compr.", "JAX", PACKED),
        ),
        "flops: reverse, forward",
    ),
    "thoad": Layout(
        (
            "sum(C * softmax(relu(relu(X P1) P2) P3)) of b rows and layers of p units,",
            "derivatives by X. Figure 8.3: the batch is kept once, or all entries are",
            "written out with the zeros between rows, p = 5; a gradient has no such",
            "zeros. Figure 8.4: the Hessian beside libraries.",
        ),
        (
            ms("kept once", OURS),
            ms("all entries", ALL),
            ms("all, reverse", REVERSE),
            ms("by hand", "by hand"),
            ms("THOAD", "THOAD"),
            ms("JAX", "JAX"),
            ms("torch", "torch"),
            ms("autograd", "autograd"),
            ratio("all/once", ALL, OURS),
            ratio("THOAD/ours", "THOAD", OURS),
            ratio("JAX/ours", "JAX", OURS),
        ),
    ),
    "crossings": Layout(
        (
            "All derivatives of one order of the same network with more layers, by",
            "all weights together: ours has each unordered tuple of inputs once.",
            "ordered is the Jacobian of all gradients: pairs in both orders. 10 rows",
            "of 10 units, of 3 for order 3; 6 layers where p is told. generate s are",
            "seconds of the processor until a first call is done, JAX start s as well.",
        ),
        (
            start("generate s", OURS),
            ms("ours", OURS),
            ms("ordered", ORDERED),
            ms("THOAD", "THOAD"),
            start("JAX start s", "JAX"),
            ms("JAX", "JAX"),
            ms("torch", "torch"),
            ratio("ordered/ours", ORDERED, OURS),
            ratio("THOAD/ours", "THOAD", OURS),
            ratio("JAX/ours", "JAX", OURS),
        ),
        "blocks",
    ),
}


def table(chosen: Set, rows: list[Row]) -> list[str]:
    """Return the lines of a set: a line for each problem at each size."""
    layout = LAYOUTS[chosen.name]
    widths = [max(len(title) + 2, 10) for title, _ in layout.columns]
    titles = [title for title, _ in layout.columns]
    head = "".join(f"{x:>{w}}" for x, w in zip(titles, widths, strict=True))
    lines = [
        f"{chosen.title}.",
        *layout.about,
        "ms are medians of calls in turns on one core, ratios are of least times.",
        f"Written by `python benchmarks/papers.py {chosen.letter}`.",
        "",
        *report.machine(*PACKAGES),
        "",
        f"{'problem':<28}{'size':<8}{head}  {layout.noted}".rstrip(),
    ]
    for (problem, dim, size), found in groupby(
        rows, lambda row: (row.problem, row.dim, row.size)
    ):
        by_name = {row.contender: row for row in found}
        shown = [of(by_name) for _, of in layout.columns]
        cells = "".join(f"{x:>{w}}" for x, w in zip(shown, widths, strict=True))
        note = by_name[OURS].note if OURS in by_name else ""
        lines.append(f"{problem:<28}{f'{dim}={size}':<8}{cells}  {note}".rstrip())
    return lines


def write(chosen: Set, rows: list[Row]) -> None:
    """Write the table of a set."""
    report.write(f"{chosen.name}.txt", table(chosen, rows))


def main() -> int:
    """Measure the sets asked for, or all; 1 where a result of ours is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    letters = [s.letter for s in papers.SETS]
    parser.add_argument("letters", nargs="*", choices=[*letters, []])
    parser.add_argument("--quick", action="store_true", help="a look; keeps nothing")
    parser.add_argument("--minutes", type=float, default=MINUTES)
    options = parser.parse_args()
    chosen = [s for s in papers.SETS if s.letter in (options.letters or letters)]
    print("\n".join([*report.machine(*PACKAGES), "", tables.head()]), flush=True)
    started = suite.Nurseries()
    try:
        if options.quick:
            return suite.verdict(suite.look(chosen, started))
        seconds = 60 * options.minutes
        rows = suite.measured(chosen, (1,), seconds, started, write, STARTS)
    finally:
        started.close()
    return suite.verdict(rows)


if __name__ == "__main__":
    sys.exit(main())
