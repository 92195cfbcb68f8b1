"""The questions of `tensorgen init` whose answers become a spec of one's own.

An answer that makes the spec wrong is asked for again, with what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import click

from tensorgen.cli import streams
from tensorgen.editor.faults import faults
from tensorgen.errors import Source


@dataclass(frozen=True)
class Answers:
    """What has been answered; the defaults make a right spec of what is still open."""

    module: str = "fit"
    inputs: tuple[str, ...] = ()
    function: str = "loss"
    expression: str = "1"
    by: str = ""

    def with_input(self, declared: str) -> Answers:
        """Return these with one more input, or these where nothing is declared."""
        more = (*self.inputs, declared)
        return replace(self, inputs=more) if declared else self

    def text(self) -> str:
        """Return the spec."""
        lines = [
            "# Shapes have sizes by name: equal names are equal sizes.",
            "tensorgen: 1",
            f"module: {self.module}",
            *(["inputs:"] if self.inputs else []),
            *(f"  {one}" for one in self.inputs),
            "functions:",
            f"  {self.function}:",
            "    expr: |  # in NumPy's notation, or with indices: sum(x[i], i)",
            f"      {self.expression}",
            *([f"    wrt: {self.by}     "] if self.by else []),
        ]
        return "".join(f"{line}\n" for line in lines)


def ask_spec(module: str | None) -> Answers:
    """Return answers of a person, where Enter takes what is offered.

    The `module` that is known is offered as its name.
    """
    none = Answers()
    offered = module or none.module
    named = _asked("name of the module", offered, lambda x: replace(none, module=x))
    given = _ask_inputs(named)
    first = given.inputs[0].partition(":")[0].strip()
    offered = given.function
    called = _asked(
        "name of the function", offered, lambda x: replace(given, function=x)
    )
    offered = f"sum({first}**2)"
    whole = _asked("expression", offered, lambda x: replace(called, expression=x))
    return _asked("derivatives by", first, lambda x: replace(whole, by=x))


def _ask_inputs(given: Answers) -> Answers:
    streams.say(
        "inputs with their shapes, as X: [m, n] or lam: scalar; Enter ends them"
    )
    while True:
        offered = "" if given.inputs else "x: [n]"
        found = _asked("input", offered, given.with_input)
        if found is given:
            return given
        given = found


def _asked(
    question: str, offered: str, with_answer: Callable[[str], Answers]
) -> Answers:
    """Ask until the answer fits those before it."""
    while True:
        shown = bool(offered)
        answer: str = click.prompt(question, offered, err=True, show_default=shown)
        found = with_answer(answer.strip())
        if _is_right(found):
            return found


def _is_right(given: Answers) -> bool:
    """Whether the spec of answers is right; says what is wrong with it."""
    for first in faults(Source("answers", given.text()))[:1]:
        streams.note(f"error: {first.message}")
        if first.hint:
            streams.note(f"hint: {first.hint}")
        return False
    return True
