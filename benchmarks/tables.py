"""Tables of the suite: rows that are written in columns, and read back from them.

`python benchmarks/tables.py` prints those that the README quotes.
"""

from dataclasses import dataclass
from pathlib import Path

WIDTHS = {"problem": 42, "size": 12, "thr": 5, "contender": 22}
FIGURES = {"ms": 12, "least": 12, "MB": 10, "first s": 9}


@dataclass
class Row:
    """What was measured of one contender at one size; None where nothing was.

    Seconds are medians; `peak` is in bytes; `first` are the seconds of the first call,
    with all that is compiled for it, and `work` those of the processor, which is in no
    table of the suite. `note` says what went wrong, or what was judged.
    """

    problem: str
    dim: str
    size: int
    threads: int = 1
    contender: str = ""
    seconds: float | None = None
    least: float | None = None
    peak: int | None = None
    first: float | None = None
    note: str = ""
    work: float | None = None

    def line(self) -> str:
        """Return the row as it stands in a table."""
        size = f"{self.dim}={self.size}" if self.dim else ""
        words = (self.problem, size, self.threads, self.contender)
        text = "".join(
            f"{w!s:<{n}}" for w, n in zip(words, WIDTHS.values(), strict=True)
        )
        scaled = (
            (self.seconds, 1e3, 5),
            (self.least, 1e3, 5),
            (self.peak, 1e-6, 4),
            (self.first, 1, 3),
        )
        for (value, factor, digits), width in zip(
            scaled, FIGURES.values(), strict=True
        ):
            shown = "-" if value is None else figure(value * factor, digits)
            text += f"{shown:>{width}}"
        return f"{text}  {self.note}".rstrip()


def figure(value: float, digits: int) -> str:
    """Return a number with so many significant digits, never in powers of ten."""
    if value == 0:
        return "0"
    places = digits - len(str(int(value))) if value >= 1 else digits - 1
    return f"{value:.{max(places, 0)}f}"


def head() -> str:
    """Return the line above the rows."""
    text = "".join(f"{n:<{w}}" for n, w in WIDTHS.items())
    return text + "".join(f"{n:>{w}}" for n, w in FIGURES.items()) + "  note"


def read(text: str) -> list[Row]:
    """Return the rows of a table."""
    lines = text.splitlines()
    start = lines.index(head()) + 1
    return [_row(line) for line in lines[start:] if line.strip()]


def _row(line: str) -> Row:
    cells, at = [], 0
    for width in (*WIDTHS.values(), *FIGURES.values()):
        cells.append(line[at : at + width].strip())
        at += width
    problem, size, threads, contender, *figures = cells
    dim, _, number = size.partition("=")
    values = [None if f == "-" else float(f) for f in figures]
    ms, least, peak, first = values
    return Row(
        problem,
        dim,
        int(number or 1),
        int(threads),
        contender,
        None if ms is None else ms / 1e3,
        None if least is None else least / 1e3,
        None if peak is None else round(peak * 1e6),
        first,
        line[at:].strip(),
    )


# What the README shows: set, problem, the largest size, or 0 for that of JAX.
TELLING = (
    ("logistic", "logistic, value and gradient", 1000),
    ("logistic", "logistic, Hessian", 1000),
    ("factorisation", "masked factorisation, Hessian", 0),
    ("factorisation", "masked factorisation, Hessian", 4000),
    ("networks", "relu network, one input", 0),
    ("networks", "tanh network, 10 inputs", 0),
    ("high_orders", "order 3, p = 10", 0),
    ("expressions", "||A X B - C||^2, Hessian", 0),
    ("expressions", "Rosenbrock, Hessian", 0),
    ("expressions", "Gaussian process, value and gradient", 1000),
    ("expressions", "attention, value and gradient", 1000),
    ("elementwise", "softplus", 10**6),
)
SHOWN = ("tensorgen", "by hand", "JAX", "torch", "torch.compile", "autograd")


def telling(results: Path) -> str:
    """Return the most telling rows of the committed tables, and how they were made."""
    found: dict[str, list[Row]] = {}
    texts: dict[str, str] = {}
    for name in dict.fromkeys(name for name, _, _ in TELLING):
        texts[name] = (results / f"{name}.txt").read_text(encoding="utf-8")
        found[name] = [row for row in read(texts[name]) if row.threads == 1]
    every = [row for rows in found.values() for row in rows]
    shown = [c for c in SHOWN if any(r.contender == c and r.seconds for r in every)]
    header = f"{'ms':<42}{'size':<10}" + "".join(f"{c:>14}" for c in shown)
    lines = [line for line in texts["logistic"].splitlines() if _describes(line)]
    lines += ["", header]
    told: list[tuple[str, int]] = []
    for name, problem, size in TELLING:
        rows = {(r.contender, r.size): r for r in found[name] if r.problem == problem}
        of = "tensorgen" if size else "JAX"
        sizes = [n for c, n in rows if c == of and rows[c, n].seconds]
        at = max((n for n in sizes if n <= (size or n)), default=0)
        if not at or (problem, at) in told:
            continue
        told.append((problem, at))
        cells = [rows.get((c, at)) for c in shown]
        dim = next(row.dim for row in cells if row is not None)
        lines.append(f"{problem:<42}{f'{dim}={at}':<10}" + "".join(map(_cell, cells)))
    return "\n".join(lines) + "\n"


def _describes(line: str) -> bool:
    return line.startswith(("machine ", "python ", "absent "))


def _cell(row: Row | None) -> str:
    if row is None:
        return f"{'-':>14}"
    if row.seconds is None:
        return f"{row.note.partition(':')[0]:>14}"
    return f"{figure(1e3 * row.seconds, 3):>14}"


if __name__ == "__main__":
    print(telling(Path(__file__).parent / "results"), end="")
