"""Shapes as people write them beside arguments: `m n`, `n n spd`, `m int < k`.

`n batch: B` is the shape of one sample, of which callers give B at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tensorgen.errors import Text, fail
from tensorgen.spec.model import PROPERTIES
from tensorgen.spec.written_scalars import flow

_INDEX = re.compile(r"\bint\s*(?:<\s*(?P<bound>\S.*))?$")
_BATCH = re.compile(r"[\s,]*\bbatch\s*:\s*(?P<size>\[[^\[\]]*\]|[^\s,\[\]]+)")
_ALLOWED = re.compile(r"[\w\s,+*\-<:()\[\]]*", re.ASCII)
WORDS = (*PROPERTIES, "sparse")


@dataclass(frozen=True)
class Declared:
    """What is said of an argument.

    `sizes` are the lengths of its axes; it is an array of integers where it `is_whole`,
    all of them below a `bound`, if that is known, and of one sample of a `batch`, if
    that has a size.
    """

    sizes: tuple[str, ...]
    words: tuple[str, ...] = ()
    is_whole: bool = False
    bound: str | None = None
    batch: str | None = None

    @property
    def shape(self) -> str:
        """The shape in YAML."""
        return f"[{', '.join(self.sizes)}]" if self.sizes else "scalar"

    def written(self, default: str | None = None, doc: str | None = None) -> str:
        """Return the entry of `inputs` in YAML."""
        more = [f"{word}: true" for word in self.words]
        more += [f"index: {self.bound}"] if self.bound else []
        more += [f"batch: [{self.batch}]"] if self.batch else []
        more += [f"default: {default}"] if default is not None else []
        more += [f"doc: {flow(doc)}"] if doc else []
        if not more:
            return self.shape
        return f"{{shape: {', '.join([self.shape, *more])}}}"


def read_shape(given: Text) -> Declared:
    """Read `m n`, with words behind it; raises `SpecError` where that is no shape.

    Sizes have blanks or commas between them; with commas they may have blanks inside.
    """
    text = given.value
    hint = 'sizes by name: "m n", "3 k", "2*n", "" for a number, "m int" for integers,'
    hint += ' "n batch: B" for samples'
    if not _ALLOWED.fullmatch(text):
        fail("this is no shape", given.span(), hint=hint)
    batch = None
    if (said := _BATCH.search(text)) is not None:
        # Before all else: what promises and bounds end with, the text ends with then.
        batch = said["size"].strip("[]")
        text = f"{text[: said.start()]} {text[said.end() :]}"
    bound, whole = None, _INDEX.search(text.rstrip())
    if whole is not None:
        bound, text = whole["bound"], text[: whole.start()]
    text = text.strip().strip("()[]").rstrip(", ")
    words: list[str] = []
    while (last := re.split(r"[\s,]", text)[-1]) in WORDS:
        words.insert(0, last)
        text = text[: len(text) - len(last)].rstrip(", ")
    text = re.sub(r"\s*([+*-])\s*", r"\1", text)
    sizes = [x.strip() for x in (text.split(",") if "," in text else text.split())]
    if sizes in ([""], ["scalar"]):
        sizes = []
    if not all(sizes) or "<" in text or ":" in text:
        fail("this is no shape", given.span(), hint=hint)
    if whole is not None and words:
        fail("integers have no such promises", given.span(), hint=hint)
    return Declared((*sizes,), (*words,), whole is not None, bound, batch)
