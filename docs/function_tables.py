"""Write the tables of functions in language.md from the tables that the compiler reads.

Run it as `python docs/function_tables.py`, or with `--check` to compare only.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tensorgen.explanation.function_reference import (
    ARRAY,
    DEFINED,
    ELEMENT,
    Entry,
    entries,
    partials,
    spelling,
    worked,
)

PAGE = Path(__file__).resolve().parent / "language.md"
BEGIN, END = "<!-- functions: begin -->", "<!-- functions: end -->"


def code(text: str) -> str:
    """Return a text as code, also in a cell of a table."""
    return "`" + text.replace("|", "\\|") + "`"


def prose(text: str) -> str:
    """Return a text whose formulas are no marks of Markdown."""
    return text.replace("**", r"\*\*")


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def elementwise(found: list[Entry]) -> list[str]:
    """Return the table of elementwise functions."""
    lines = [
        _row("function", "derivative", "NumPy", ""),
        _row("---", "---", "---", "---"),
    ]
    for entry in found:
        derivative = ", ".join(code(text) for text in partials(entry))
        cells = derivative, code(spelling(entry)), prose(entry.doc)
        lines.append(_row(code(entry.signature), *cells))
    return lines


def _derivative(entry: Entry, formula: str) -> str:
    wrt = entry.inputs.partition(":")[0]
    return f"by {wrt}: {code(formula)}" if formula else ""


def arrays(found: list[Entry]) -> list[str]:
    """Return the table of all other functions."""
    lines = [
        _row("function", "shape", "derivative of a sample", "NumPy of the sample", ""),
        _row("---", "---", "---", "---", "---"),
    ]
    for entry in found:
        formula, statements = worked(entry)
        derivative = _derivative(entry, formula)
        sample = f"{code(entry.sample)}: " if derivative else ""
        shape, doc = entry.shape, prose(entry.doc)
        cells = shape, sample + derivative, code(statements), doc
        lines.append(_row(code(entry.signature), *cells))
    return lines


def definitions(found: list[Entry]) -> list[str]:
    """Return the table of the prelude's definitions."""
    lines = [
        _row("definition", "derivative of a sample", "NumPy of the sample"),
        _row("---", "---", "---"),
    ]
    for entry in found:
        formula, statements = worked(entry)
        sample = f"{code(entry.sample)}: {_derivative(entry, formula)}"
        lines.append(_row(code(entry.signature), sample, code(statements)))
    return lines


def tables() -> str:
    """Return what stands between the two marks."""
    by_sort: dict[str, list[Entry]] = {}
    for entry in entries():
        by_sort.setdefault(entry.sort, []).append(entry)
    parts = [
        "### Elementwise",
        "",
        *elementwise(by_sort[ELEMENT]),
        "",
        "### Of whole arrays",
        "",
        *arrays(by_sort[ARRAY]),
        "",
        "### Definitions of the prelude",
        "",
        *definitions(by_sort[DEFINED]),
    ]
    return "\n".join(parts)


def page(text: str) -> str:
    """Return the page with its tables written anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables()}\n{END}{after}"


def main() -> int:
    """Write the page, or with `--check` say whether it is up to date."""
    text = PAGE.read_text(encoding="utf-8")
    wanted = page(text)
    if "--check" in sys.argv[1:]:
        if wanted != text:
            print(f"{PAGE.name}: stale; run python docs/function_tables.py")
        return int(wanted != text)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
