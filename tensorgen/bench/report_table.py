"""Rows as a table for people, and as they are for machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tensorgen.bench.timed_rows import Row

HEADER = (
    *("ms", "median", "least", "JAX", "Mflop", "GFLOP/s"),
    *("MB modelled", "measured", "compared with"),
)


def table(rows: Sequence[Row], told: Mapping[str, str]) -> str:
    """Return a table, and below it what was not timed or not compared, and why."""
    lines = [f"{name:9s}{text}" for name, text in told.items() if text]
    sizes = {x: size for row in rows for x, size in row.sizes.items()}
    lines.append(f"{'sizes':9s}{_sizes(sizes) or 'none'}")
    timed = [row for row in rows if row.times is not None]
    if timed:
        cells = [HEADER, *map(_cells, timed)]
        if all(row.jax is None for row in timed):
            at = HEADER.index("JAX")
            cells = [(*row[:at], *row[at + 1 :]) for row in cells]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines.append("")
        for row in cells:
            first, *rest = row
            last = rest.pop()
            middle = "  ".join(
                x.rjust(w) for x, w in zip(rest, widths[1:-1], strict=True)
            )
            lines.append(f"{first.ljust(widths[0])}  {middle}  {last}")
    notes = [*_notes(rows)]
    return "\n".join([*lines, *[""] * bool(notes), *notes]) + "\n"


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {size:,}" for name, size in sizes.items())


def _cells(row: Row) -> tuple[str, ...]:
    assert row.times is not None
    ours = row.times
    against = f"{row.answer.against}: {row.answer.error:.0e}"
    return (
        row.function,
        _milliseconds(ours.median),
        _milliseconds(ours.least),
        _milliseconds(row.jax.median) if row.jax else "-",
        _digits(row.flops / 1e6),
        _digits(row.flops / ours.median / 1e9),
        _digits(row.modelled / 1e6),
        _digits(row.measured / 1e6),
        against if row.answer.against else "-",
    )


def _milliseconds(seconds: float) -> str:
    return _digits(1e3 * seconds)


def _digits(number: float) -> str:
    """Three digits, never as a power of ten."""
    if number >= 100:
        return f"{number:,.0f}"
    if number >= 1:
        return f"{number:.3g}"
    return f"{number:.2g}" if number >= 1e-4 else f"{number:.4f}"


def _notes(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        if row.reason:
            wrong = "WRONG" if row.answer.is_wrong else "not timed"
            error = f" by {row.answer.error:.1e}" if row.answer.is_wrong else ""
            yield f"{row.function}: {wrong}: {row.reason}{error}"
        elif row.differs:
            yield f"{row.function}: JAX differs by {row.differs:.0e}, and is off itself"
        elif not row.answer.against and row.answer.reason:
            yield f"{row.function}: not compared: {row.answer.reason}"
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.no_jax and not row.reason:
            reasons.setdefault(row.no_jax, []).append(row.function)
    timed = [row for row in rows if not row.reason]
    for reason, names in reasons.items():
        of = "" if len(names) == len(timed) else f" of {', '.join(names)}"
        yield f"no times of JAX{of}: {reason}"


def as_json(rows: Sequence[Row], told: Mapping[str, str]) -> dict[str, Any]:
    """Return all of it in plain values: seconds, flops and bytes."""
    return {**told, "functions": [_plain(row) for row in rows]}


def _plain(row: Row) -> dict[str, Any]:
    found = asdict(row)
    answer = found.pop("answer")
    finite = answer["error"] if answer["error"] < float("inf") else None
    compared = {"against": answer["against"], "error": finite}
    compared["verdict"] = (
        "WRONG" if row.answer.is_wrong else "ok" if row.answer.against else "open"
    )
    compared["reason"] = answer["reason"]
    gflops = row.flops / row.times.median / 1e9 if row.times else None
    return {**found, "gflops": gflops, "compared": compared}
