"""The questions of `tensorgen init` whose answers become a spec of one's own.

An answer that makes the spec wrong is asked for again, with what is wrong with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import click

from tensorgen.cli import streams
from tensorgen.errors import Source, SpecError
from tensorgen.lang import program_of
from tensorgen.spec.read import read_spec


@dataclass(frozen=True)
class Answers:
    """What has been answered; the defaults make a right spec of what is still open."""

    module: str = "fit"
    inputs: tuple[str, ...] = ()
    function: str = "loss"
    expression: str = "1"
    by: str = ""

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

    The name of the module is not asked for where it is known.
    """
    given = Answers()
    given = _asked("name of the module", given, "module", module or given.module)
    streams.say(
        "inputs with their shapes, as X: [m, n] or lam: scalar; Enter ends them"
    )
    while True:
        so_far, offered = given.inputs, "" if given.inputs else "x: [n]"
        given = _asked("input", given, "inputs", offered)
        if given.inputs == so_far:
            break
    first = given.inputs[0].partition(":")[0].strip()
    given = _asked("name of the function", given, "function", given.function)
    given = _asked("expression", given, "expression", f"sum({first}**2)")
    return _asked("derivatives by", given, "by", first)


def _asked(question: str, given: Answers, part: str, offered: str) -> Answers:
    """Ask until the answer fits those before it."""
    while True:
        shown = bool(offered)
        answer = click.prompt(question, offered, err=True, show_default=shown).strip()
        if part != "inputs":
            found = replace(given, **{part: answer})
        elif answer:
            found = replace(given, inputs=(*given.inputs, answer))
        else:
            return given
        if _is_right(found):
            return found


def _is_right(given: Answers) -> bool:
    """Whether the spec of answers is right; says what is wrong with it."""
    try:
        program_of(read_spec(Source("answers", given.text())))
    except SpecError as error:
        first = error.diagnostics[0]
        streams.note(f"error: {first.message}")
        if first.hint:
            streams.note(f"hint: {first.hint}")
        return False
    return True
