"""`tensorgen explain --svg`, drawn by Graphviz itself; skipped where that is not."""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from tensorgen import cli
from tensorgen.errors import Source
from tensorgen.explanation.dag import dot
from tensorgen.explanation.drawing import drawn
from tensorgen.explanation.subjects import explained
from tensorgen.explanation.written_files import MARK

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "logistic_regression.yaml"
SVG = "{http://www.w3.org/2000/svg}"

pytestmark = pytest.mark.skipif(shutil.which("dot") is None, reason="dot is not here")
pytest.importorskip("graphviz")


def picture(function: str) -> ElementTree.Element:
    source = Source(str(EXAMPLE), EXAMPLE.read_text("utf-8"))
    text = drawn(dot(explained(source, function, in_all_modes=False)))
    assert text.startswith("<?xml") and MARK in text[:200]
    assert "<!DOCTYPE" not in text  # which viewers would fetch
    return ElementTree.fromstring(text)


def boxes(svg: ElementTree.Element, kind: str) -> dict[str, ElementTree.Element]:
    found = svg.iter(f"{SVG}g")
    return {x.findtext(f"{SVG}title", ""): x for x in found if x.get("class") == kind}


def test_values_and_their_uses_are_all_drawn() -> None:
    svg = picture("loss_hess")
    nodes, edges = boxes(svg, "node"), boxes(svg, "edge")
    texts = {x.text for node in nodes.values() for x in node.iter(f"{SVG}text")}
    assert {"hess", "X", "w", "y", "lam", "(m, n)", "exp", "sqrt", "-1 *"} <= texts
    assert "sum_k *" in texts and "delta[i, j] *" in texts
    for title in edges:
        source, target = title.split("->")
        assert {source, target} <= nodes.keys()
    plain = [x for x in nodes.values() if x.findtext(f"{SVG}text") in ("1", "-2")]
    assert len(plain) == 2 and all(x.find(f"{SVG}ellipse") is None for x in plain)


def test_titles_stand_above_what_they_name_and_labels_beside_lines() -> None:
    svg = picture("loss_hess")
    (cluster,) = boxes(svg, "cluster").values()
    title = cluster.find(f"{SVG}text")
    assert title is not None and title.text == "loss_hess"
    places = [
        float(text.get("y", "0"))
        for node in boxes(svg, "node").values()
        for text in node.iter(f"{SVG}text")
    ]
    assert float(title.get("y", "0")) < min(places)
    labels = [x for e in boxes(svg, "edge").values() for x in e.iter(f"{SVG}text")]
    assert labels
    for label in labels:  # apart from their lines, which are drawn to their edge
        text = label.text or ""
        assert text[:2].isspace() and text[-2:].isspace() and text.strip()


def test_the_command_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    words = ["explain", str(EXAMPLE), "loss_grad", "--svg", str(path), "-q"]
    assert CliRunner().invoke(cli.cli, words).exit_code == cli.FINE
    assert ElementTree.parse(path).getroot().tag == f"{SVG}svg"
