"""What the documents show is real: specs compile, quotations are verbatim.

A fenced block that follows `<!-- from PATH -->` is quoted from that file. Where it
leaves lines out, a line `...` stands for them, and each piece must occur, in order.
"""

import re
from pathlib import Path

import numpy as np
import pytest

import tensorgen

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"(?:<!-- from (?P<source>\S+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)

blocks = [
    pytest.param(match, id=f"{path.name}-{number}")
    for path in DOCUMENTS
    for number, match in enumerate(BLOCK.finditer(path.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize("block", blocks)
def test_a_quotation_is_verbatim(block: re.Match[str]) -> None:
    assert block["text"].strip(), "an empty block"
    if block["source"] is None:
        return
    rest = (ROOT / block["source"]).read_text(encoding="utf-8")
    for piece in re.split(r"^ *\.\.\.\n", block["text"], flags=re.MULTILINE):
        assert piece in rest
        rest = rest[rest.index(piece) + len(piece) :]


@pytest.mark.parametrize("block", blocks)
def test_a_spec_in_a_document_compiles(block: re.Match[str]) -> None:
    if block["language"] == "yaml" and block["text"].startswith("tensorgen: 1"):
        compile(tensorgen.generate(block["text"]), "<document>", "exec")


def test_the_python_example_of_the_readme_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme[readme.index("## From Python") :]
    found = BLOCK.search(section)
    assert found is not None and found["language"] == "python"
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), np.where(rng.random(20) < 0.5, -1.0, 1.0)
    names = {"w": np.zeros(3), "X": X, "y": y}
    monkeypatch.chdir(ROOT)
    exec(found["text"], names)
    hessian = X.T @ X / 4 + 0.2 * np.eye(3)
    np.testing.assert_allclose(hessian @ names["w"], X.T @ y / 2, rtol=1e-12)
