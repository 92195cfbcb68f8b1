"""Run the models of the gallery, and make its pages: `make gallery`.

`python docs/gallery.py NAME...` makes the pages and pictures of some, without names
those of all, and the index. Pages depend on nothing but specs and results.
"""

import ast
import contextlib
import importlib
import importlib.util
import inspect
import io
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import black
from black.mode import TargetVersion

import tensorgen

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "gallery"
LARGEST = 60_000  # bytes of a picture of lines; larger ones are of dots
sys.path[:0] = [p for p in (str(ROOT / "examples"),) if p not in sys.path]

MODE = black.Mode(line_length=88, target_versions={TargetVersion.PY311})
COLUMNS = 3  # of the index

SECTIONS = {
    "Regression and its kin": [
        *("logistic", "insurance", "cox", "sleep", "arthritis", "tides"),
        *("co2", "travel", "football"),
    ],
    "Time": ["kalman_nile", "volatility", "regimes", "influenza"],
    "Learning": [
        *("mixture", "ratings", "digits", "neighbours", "words", "transformer"),
    ],
    "Physics": ["pinn", "rubber_beam", "soap_film", "cluster", "slide"],
    "Engineering": [
        *("denoising", "power_flow", "truss", "mpc", "cart_pole", "bundle"),
    ],
    "Finance": ["portfolio", "options"],
}

STYLE: dict[str, Any] = {
    "svg.hashsalt": "tensorgen",
    "svg.fonttype": "none",  # text stays text
    "figure.figsize": (6.4, 3.2),
    "figure.constrained_layout.use": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
}


def names() -> list[str]:
    """Return all entries in the order of the index."""
    return [name for section in SECTIONS.values() for name in section]


def entry(name: str) -> Any:
    """Return the module of an entry."""
    return importlib.import_module(f"gallery.{name}")


@cache
def ran(name: str) -> Any:
    """Return what the run of an entry found."""
    with (
        mock.patch.object(tensorgen, "load", loaded),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        return entry(name).run()


_load = tensorgen.load


@cache
def loaded(path: Path) -> Any:
    """Return the module of a spec, which is generated once, or a golden file."""
    golden = ROOT / "tests" / "golden" / f"{path.stem}_numpy.py"
    if path.parent != ROOT / "examples":
        return _load(path)
    found = importlib.util.spec_from_file_location(golden.stem, golden)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def page(name: str) -> str:
    """Return the page of an entry; what it quotes is what has run."""
    one, run = entry(name), ran(name)
    spec = one.SPEC.relative_to(ROOT)
    rows = [f"| {key} | {value} |" for key, value in run.numbers.items()]
    parts = [
        f"# {one.TITLE}",
        one.__doc__.strip(),
        f"![{one.TITLE}]({picture(name)})",
        "## The spec",
        f"[{spec}](../../{spec})",
        fenced("yaml", one.SPEC.read_text(encoding="utf-8")),
        "## What comes of it",
        f"`tensorgen explain {spec} {one.SHOWN}` says",
        fenced("text", told(one.SPEC, one.SHOWN)),
        "and the module has",
        fenced("python", quoted(loaded(one.SPEC), one.SHOWN)),
        "## What it finds",
        "\n".join(["| | |", "|---|---|", *rows]),
        f"The run is [examples/gallery/{name}.py](../../examples/gallery/{name}.py);"
        f" `python docs/gallery.py {name}` makes this page. [All models](index.md)",
    ]
    return "\n\n".join(parts) + "\n"


def fenced(language: str, text: str) -> str:
    """Return a fenced block."""
    return f"```{language}\n{text.rstrip()}\n```"


def told(spec: Path, function: str) -> str:
    """Return what `tensorgen explain` says of a function, but for its statements."""
    text = str(tensorgen.explain(spec, function))
    return text[text.index("== ") :].partition("\nStatements, ")[0]


def quoted(module: Any, function: str) -> str:
    """Return a function of a module, of its docstring only the first line.

    Of one that is read of the results of another, that one.
    """
    source = inspect.getsource(getattr(module, function))
    if read := re.search(r"^    return (\w+)\(.*\)\[1\]\n*\Z", source, re.MULTILINE):
        return quoted(module, read[1])
    text = black.format_str(source, mode=MODE)
    (node,) = (one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef))
    docstring, start = node.body[0], node.body[1]
    lines = text.splitlines()
    first = lines[docstring.lineno - 1].removesuffix('"""')
    head, body = lines[: docstring.lineno - 1], lines[start.lineno - 1 :]
    return "\n".join([*head, f'{first}"""', *body])


def index() -> str:
    """Return the page that lists all."""
    parts = [
        "# Gallery",
        "Models that people recognise: for each a spec, what comes of it, and a run on"
        " data. `make gallery` runs all of them, compares what they find with other"
        " programs or published values, and holds these pages to it.",
    ]
    for title, own in SECTIONS.items():
        cells = [*map(listed, own)]
        cells += [""] * (-len(cells) % COLUMNS)
        rows = [cells[k : k + COLUMNS] for k in range(0, len(cells), COLUMNS)]
        head = ["| " * COLUMNS + "|", "|---" * COLUMNS + "|"]
        parts += [f"## {title}", "\n".join([*head, *map(joined, rows)])]
    return "\n\n".join(parts) + "\n"


def joined(cells: list[str]) -> str:
    """Return a row of a table."""
    return "| " + " | ".join(cells) + " |"


def listed(name: str) -> str:
    """Return the entry of the index."""
    one = entry(name)
    first = " ".join(one.__doc__.split("\n\n")[0].split())
    image = f'<img src="{picture(name)}" alt="{one.TITLE}" width="240">'
    return f"[{image}]({name}.md)<br>**[{one.TITLE}]({name}.md)**<br>{first}"


def picture(name: str) -> str:
    """Return the file of a picture: of lines, or of dots where that is less."""
    return f"{name}.png" if (PAGES / f"{name}.png").exists() else f"{name}.svg"


def draw(name: str, run: Any) -> None:
    """Write the picture of an entry."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    lines, dots = PAGES / f"{name}.svg", PAGES / f"{name}.png"
    for path in (lines, dots):
        path.unlink(missing_ok=True)
    with mpl.rc_context(STYLE):
        figure, axes = pyplot.subplots()
        run.draw(axes)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3)
        figure.savefig(lines, metadata={"Date": None, "Creator": None})
        if lines.stat().st_size > LARGEST:
            lines.unlink()
            figure.savefig(dots, dpi=80, metadata={"Software": None})
        pyplot.close(figure)


def main() -> None:
    """Make the pages that are asked for, and the index."""
    for name in sys.argv[1:] or names():
        run = ran(name)
        print(entry(name).TITLE, run.numbers, sep="\n   ", flush=True)
        draw(name, run)  # first: the page names the picture
        (PAGES / f"{name}.md").write_text(page(name), encoding="utf-8")
    (PAGES / "index.md").write_text(index(), encoding="utf-8")


if __name__ == "__main__":
    main()
