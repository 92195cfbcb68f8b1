"""What the documents show is real: specs compile, quotations are what is produced."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensorgen
from tests.documents import DOCUMENTS, ROOT, Block, blocks, made, same
from tests.sampled import left
from tests.test_import_order import STAGES

BLOCKS = [block for path in DOCUMENTS for block in blocks(path)]
SPECS = [
    # Those of one page take as long as all others.
    left(block) if block.name.startswith("laplace-") else block
    for block in BLOCKS
    if block.language == "yaml" and block.text.startswith("tensorgen: 1")
]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_a_quotation_is_what_is_produced(block: Block) -> None:
    assert block.text.strip(), "an empty block: make golden"
    wanted = made(block)
    if wanted is not None:
        assert same(block, wanted), f"make golden\n{wanted}"
    elif block.mark.startswith("from "):
        rest = (ROOT / block.mark.removeprefix("from ")).read_text(encoding="utf-8")
        for piece in re.split(r"^ *\.\.\.\n", block.text, flags=re.MULTILINE):
            assert piece in rest
            rest = rest[rest.index(piece) + len(piece) :]
    elif block.mark:  # held elsewhere: test_sessions.py, test_pages.py
        assert block.mark == "session" or block.mark.startswith(("file ", "in "))


@pytest.mark.parametrize("block", SPECS, ids=lambda block: block.name)
def test_a_spec_in_a_document_compiles(block: Block) -> None:
    if "diagnostics" not in marks_after(block):
        compile(tensorgen.generate(block.text), "<document>", "exec")


def marks_after(block: Block) -> str:
    """Return the mark of the block that follows one, if any."""
    return next((b.mark for b in BLOCKS if b.before == block.text), "")


def test_the_python_example_of_the_command_line_page_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (example,) = (
        block.text
        for block in blocks(ROOT / "docs" / "command-line.md")
        if block.language == "python" and not block.mark
    )
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), np.where(rng.random(20) < 0.5, -1.0, 1.0)
    names = {"w": np.zeros(3), "X": X, "y": y}
    monkeypatch.chdir(ROOT)
    exec(example, names)
    hessian = X.T @ X / 4 + 0.2 * np.eye(3)
    np.testing.assert_allclose(hessian @ names["w"], X.T @ y / 2, rtol=1e-12)


def test_stages_are_shown_of_a_function_that_emits_no_second_derivative(
    tmp_path: Path,
) -> None:
    spec = tmp_path / "cubes.yaml"
    spec.write_text(
        "tensorgen: 1\ninputs: {x: [n]}\nfunctions:\n"
        "  cubes: {expr: sum(x**3), wrt: x, emit: [value]}\n  total: sum(x)\n"
    )
    command = [sys.executable, str(ROOT / "docs" / "stages.py"), str(spec)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "hess[i, j] = 6 * x[i] * delta[i, j]" in shown.stdout
    refused = subprocess.run([*command, "total"], capture_output=True, text=True)
    assert refused.stderr == "cubes.yaml: no function to differentiate\n"


def test_the_tour_names_files_that_exist() -> None:
    tour = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    start, end = tour.index("## Where to change what"), tour.index("## How much work")
    rows = [row for row in tour[start:end].split("\n") if row.startswith("| ")][2:]
    assert len(rows) >= 15
    for row in rows:
        paths = re.findall(r"`([\w./]+(?:/|\.\w+))`", row)
        assert paths, row
        for path in paths:
            places = (ROOT / path, ROOT / "tensorgen" / path)
            assert any(place.exists() for place in places), path


def test_the_tour_knows_every_stage_in_its_order() -> None:
    tour = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    line = next(row for row in tour.split("\n") if row.startswith("    errors →"))
    known = [stage for stage in STAGES if stage not in ("version", "files")]
    assert line.split() == " → ".join(known).split()
