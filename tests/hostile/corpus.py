"""The specs that hostile ones are made of, and their tokens."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LARGE = frozenset({"mesh_energy", "attention_layer", "total_variation"})
"""Examples that take seconds to compile: too slow to be broken in a hundred ways."""

TOKEN = re.compile(
    r"\n *|[A-Za-z_]\w*|\d+\.?\d*(?:[eE][+-]?\d+)?|\*\*|[<>=!]=|\.\.\.|[ \t]+|."
)


@cache
def specs() -> tuple[str, ...]:
    """Return the texts: the features one by one, the documents', small examples."""
    folder = Path(__file__).with_name("specs")
    files = sorted(folder.glob("*.yaml"))
    files += [
        p for p in sorted((ROOT / "examples").glob("*.yaml")) if p.stem not in LARGE
    ]
    texts = [path.read_text("utf-8") for path in files]
    page = (ROOT / "docs" / "language.md").read_text("utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    return (*texts, *(b for b in blocks if b.startswith("tensorgen: 1")))


@cache
def tokens() -> tuple[str, ...]:
    """Return every token of the texts that is no white space, as often as it occurs."""
    found = (token for text in specs() for token in TOKEN.findall(text))
    return tuple(token for token in found if token.strip())
