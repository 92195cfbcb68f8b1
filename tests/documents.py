"""What the documents quote: found by marks in them, made anew by `make golden`.

A fenced block that follows one of these marks holds what the mark says:

    <!-- from PATH -->                    lines of a file; `...` for what is left out
    <!-- all of PATH -->                  a whole file
    <!-- NAME, NAME from PATH -->         functions of a module, docstrings shortened
    <!-- stage TITLE -->                  what docs/stages.py prints under that title
    <!-- diagnostics of FILE, above -->   for the spec in the block before, as FILE
    <!-- output of the demo -->           what `make demo` prints, but for times
    <!-- telling rows of the suite -->    figures that `make bench` kept
    <!-- output of tensorgen ... -->      what this command prints
    <!-- TITLE in tensorgen ... -->       what it prints under that title, once
    <!-- session -->, <!-- file NAME -->  see sessions.py
    <!-- in PACKAGE -->                   see test_pages.py
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tensorgen
from tests import goldens

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
BLOCK = re.compile(
    r"(?:<!-- (?P<mark>[^>]+) -->\n)?" r"^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# Times, and what is rounding error alone: they differ from machine to machine.
VARIABLE = re.compile(r" *\d+\.\d+( s)?$| *\d\.\d+e-(09|1\d)", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a document; `before` is the text of the one before it."""

    name: str
    mark: str
    language: str
    text: str
    before: str


def blocks(path: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a document in order."""
    before = ""
    for number, match in enumerate(BLOCK.finditer(path.read_text(encoding="utf-8"))):
        name = f"{path.stem}-{number}"
        yield Block(name, match["mark"] or "", match["language"], match["text"], before)
        before = match["text"]


def made(block: Block) -> str | None:
    """Return what a block's mark asks for; None for lines of a file, or no mark."""
    if block.mark == "output of the demo":
        return demo()
    if block.mark == "telling rows of the suite":
        return run("benchmarks/tables.py")
    if block.mark.startswith("output of tensorgen "):
        return command(block.mark.removeprefix("output of tensorgen "))
    if found := re.fullmatch(r"(\w+) in tensorgen (.+)", block.mark):
        return titled(command(found[2]), found[1])
    if block.mark.startswith("all of "):
        return (ROOT / block.mark.removeprefix("all of ")).read_text(encoding="utf-8")
    if block.mark.startswith("stage "):
        return stages()[block.mark.removeprefix("stage ")] + "\n"
    if found := re.fullmatch(r"diagnostics of (\S+), above", block.mark):
        return diagnostics(block.before, found[1])
    if found := re.fullmatch(r"(.+) from (\S+)", block.mark):
        return functions(ROOT / found[2], found[1].split(", "))
    return None


def functions(path: Path, names: list[str]) -> str:
    """Return functions of a module, each docstring only as one line, or values."""
    golden = path.parent == goldens.FOLDER
    text = goldens.text(path.name) if golden else path.read_text(encoding="utf-8")
    lines = text.splitlines()
    defined = {
        node.name: node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    }
    values = {
        target.id: node
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    shown = []
    for name in names:
        if name in values:
            own = values[name]
            shown.append("\n".join(lines[own.lineno - 1 : own.end_lineno]))
            continue
        node = defined[name]
        docstring, start = node.body[0], node.body[1]
        first = lines[docstring.lineno - 1].removesuffix('"""')
        head = lines[node.lineno - 1 : docstring.lineno - 1]
        body = lines[start.lineno - 1 : node.end_lineno]
        shown.append("\n".join([*head, f'{first}"""', *body]))
    return "\n\n\n".join(shown) + "\n"


def diagnostics(spec: str, file: str) -> str:
    """Return what a wrong spec is answered with when it is a file of that name."""
    from tensorgen.errors import Source
    from tensorgen.pipeline import compile_spec

    try:
        compile_spec(Source(file, spec), ["numpy"], "cross-country")
    except tensorgen.SpecError as error:
        return f"{error}\n"
    raise ValueError("the spec is not wrong")


@cache
def stages() -> dict[str, str]:
    """Return what docs/stages.py prints, by title."""
    printed = run("docs/stages.py")
    parts = re.split(r"^-- (.+)\n", printed, flags=re.MULTILINE)[1:]
    return {
        title: text.rstrip("\n")
        for title, text in zip(parts[::2], parts[1::2], strict=True)
    }


@cache
def demo() -> str:
    """Return what the demo prints."""
    return run("examples/logistic_regression_demo.py")


@cache
def command(arguments: str) -> str:
    """Return what the command line prints in the repository's folder."""
    given = [sys.executable, "-m", "tensorgen", *arguments.split()]
    done = subprocess.run(given, cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout


def titled(text: str, title: str) -> str:
    """Return the paragraph of a text that begins with a title."""
    (found,) = (part for part in text.split("\n\n") if part.startswith(title))
    return found.rstrip("\n") + "\n"


def run(script: str) -> str:
    """Return what a script of the repository prints."""
    command = [sys.executable, str(ROOT / script)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout


def same(block: Block, wanted: str) -> bool:
    """Whether a block holds what is wanted, but for times in the demo's output."""
    if block.mark != "output of the demo":
        return block.text == wanted
    return VARIABLE.sub("", block.text) == VARIABLE.sub("", wanted)


def main() -> None:
    """Write into the documents what their marks ask for."""
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        for block in blocks(path):
            wanted = made(block)
            if wanted is None or same(block, wanted):
                continue
            fence = f"<!-- {block.mark} -->\n```{block.language}\n"
            assert fence + block.text in text
            text = text.replace(fence + block.text, fence + wanted)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
