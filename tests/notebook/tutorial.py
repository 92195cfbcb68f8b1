"""The tutorial notebook runs, and shows what is committed: `make notebook`.

`python -m tests.notebook.tutorial` executes it and keeps what comes out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "tutorial.ipynb"
# Numbers whose last digits are rounding errors, and names made of checksums.
VARIABLE = re.compile(r"\d\.\d+e-(0[6-9]|1\d)|_[0-9a-f]{12}\b| at 0x[0-9a-f]+")


def executed() -> Any:
    """Return the notebook with the outputs of a fresh kernel."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute(
        cwd=str(NOTEBOOK.parent)
    )
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran
    notebook.metadata.pop("language_info", None)  # of which version of Python
    return notebook


def outputs(notebook: Any) -> list[tuple[str, list[str]]]:
    """The text of each cell of code, and all that it shows."""
    return [
        (cell.source, [_text(output) for output in cell.outputs])
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _text(output: Any) -> str:
    data = output.get("data") or {output.output_type: output.get("text", "")}
    text = "\n".join(f"{kind}: {value}" for kind, value in sorted(data.items()))
    return VARIABLE.sub("", text)


def test_the_notebook_shows_what_its_cells_show() -> None:
    kept = outputs(nbformat.read(NOTEBOOK, as_version=4))
    assert len(kept) > 5 and sum(len(shown) for _, shown in kept) > 5
    assert outputs(executed()) == kept, "python -m tests.notebook.tutorial"


def test_a_page_of_the_notebook_has_pictures_and_formulas() -> None:
    shown = "\n".join(x for _, own in outputs(nbformat.read(NOTEBOOK, 4)) for x in own)
    assert "<svg" in shown and "<math" in shown and "\\begin{aligned}" in shown


if __name__ == "__main__":
    nbformat.write(executed(), NOTEBOOK)
