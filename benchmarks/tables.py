"""Tables of the suite: rows that are written in columns, and read back from them."""

from dataclasses import dataclass

WIDTHS = {"problem": 42, "size": 12, "thr": 5, "contender": 22}
FIGURES = {"ms": 12, "least": 12, "MB": 10, "first s": 9}


@dataclass
class Row:
    """What was measured of one contender at one size; None where nothing was.

    Seconds are medians; `peak` is in bytes; `first` are the seconds of the first call,
    with all that is compiled for it. `note` says what went wrong, or what was judged.
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

    def line(self) -> str:
        """Return the row as it stands in a table."""
        size = f"{self.dim}={self.size}" if self.dim else ""
        words = (self.problem, size, self.threads, self.contender)
        text = "".join(f"{w!s:<{n}}" for w, n in zip(words, WIDTHS.values(), strict=True))
        scaled = (
            (self.seconds, 1e3, 5),
            (self.least, 1e3, 5),
            (self.peak, 1e-6, 4),
            (self.first, 1, 3),
        )
        for (value, factor, digits), width in zip(scaled, FIGURES.values(), strict=True):
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
