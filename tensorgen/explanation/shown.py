"""What is told of a spec as an object of Python's, which notebooks show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tensorgen.errors import Source
from tensorgen.explanation.dag import Dag, dag_of, dot
from tensorgen.explanation.drawing import MOST_VERTICES, picture
from tensorgen.explanation.latex import displayed, latex
from tensorgen.explanation.page import page, sections
from tensorgen.explanation.passes import passes
from tensorgen.explanation.report import report
from tensorgen.explanation.style import STYLE, lights
from tensorgen.explanation.subjects import Explained, UnknownFunctionError, explained

_PICTURE_STYLE = """
path { fill: none; stroke: #777; } rect { stroke: #555; }
text { font: 13px ui-monospace, monospace; text-anchor: middle; fill: #1c1c1c; }
text.at { font-size: 11px; fill: #777; }
""".strip()


class Explanation:
    """The functions of a spec; `explanation["loss_hess"]` is that of one of them.

    `str` gives what `tensorgen explain` prints. Notebooks show formulas, structure,
    costs, statements and a picture; as LaTeX or as SVG they show the formulas, or the
    picture of a single function.
    """

    def __init__(self, told: Explained) -> None:
        self._told = told

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of the functions that are emitted."""
        return tuple(subject.name for subject in self._told.subjects)

    def __getitem__(self, name: str) -> Explanation:
        own = tuple(
            subject
            for subject in self._told.subjects
            if name in (subject.name, subject.function.function)
        )
        if not own:
            raise KeyError(name)
        return Explanation(replace(self._told, subjects=own))

    def latex(self) -> str:
        """Return the formulas for a paper, with `amsmath`."""
        return latex(self._told)

    def dot(self) -> str:
        """Return what is computed of what, for Graphviz."""
        return dot(self._told)

    def steps(self) -> str:
        """Return what each pass did."""
        return passes(self._told)

    def html(self) -> str:
        """Return a page with all but the steps, which needs nothing from elsewhere."""
        return page(self._told)

    def __str__(self) -> str:
        return report(self._told)

    def __repr__(self) -> str:
        names = ", ".join(self.functions)
        return f"<explanation of {self._told.spec.module}: {names}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self).rstrip("\n"))

    def _repr_html_(self) -> str:
        return _fragment(self._told)

    def _repr_latex_(self) -> str:
        return displayed(self._told)

    def _repr_svg_(self) -> str | None:
        if len(self._told.subjects) != 1:
            return None
        dag = dag_of(self._told.subjects[0])
        return _standalone(dag) if len(dag.vertices) <= MOST_VERTICES else None


def _fragment(told: Explained) -> str:
    """What stands on the page, as an element of another one."""
    found, most = sections(told)
    # Nested, so that rules hold for this element and what is in it.
    style = STYLE.replace(":root", "&").replace("body {", "& {")
    rules = f"<style>\n.tensorgen {{\n{style}\n{lights(most)}\n}}\n</style>"
    return "\n".join(['<div class="tensorgen">', rules, *found, "</div>\n"])


def _standalone(dag: Dag) -> str:
    """The picture of a graph as an SVG file of its own."""
    start = '<svg xmlns="http://www.w3.org/2000/svg" '
    head, _, rest = picture(dag, {}).removeprefix("<svg ").partition(">")
    return f"{start}{head}><style>{_PICTURE_STYLE}</style>{rest}"


def explanation(
    source: Source, function: str | None, backend: str, mode: str, allow_external: bool
) -> Explanation:
    """Compile a spec, and return what is told of it; raises `KeyError` and others."""
    try:
        told = explained(source, function, backend, mode, allow_external=allow_external)
    except UnknownFunctionError as error:
        raise KeyError(str(error)) from None
    return Explanation(told)
