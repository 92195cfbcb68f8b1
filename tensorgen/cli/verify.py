"""`tensorgen verify`: all that modules compute, compared with their specs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tensorgen.cli import options, streams
from tensorgen.cli.codes import FINE, MODES, STALE, WRONG
from tensorgen.cli.modules_and_data import read_data, subject
from tensorgen.cli.settings import Settings, read_settings
from tensorgen.cli.voice import Voice
from tensorgen.errors import Source, suggest

if TYPE_CHECKING:
    from tensorgen.spec.model import Spec
    from tensorgen.verify import Finding, Subject, Verification

ALL = "all"


@click.command("verify")
@click.argument("specs", nargs=-1, required=True, metavar="SPEC... [FUNCTION]")
@click.option(
    "--seed", type=int, default=0, help="Seed of random points; by default 0."
)
@options.data("Compare at one point: inputs, and sizes in no shape, by their names.")
@options.backends(
    "Which modules; by default those that the spec names, as far as they can run."
)
@options.output("Where the modules are; by default beside each spec.")
@options.mode(
    "Generate modules in memory in this order of differentiation, or in each of"
    " them, which are compared then too.",
    (*MODES, ALL),
)
@options.allow_external(
    "Let modules import and call the functions that specs name as external."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@options.quiet
def command(
    specs: tuple[str, ...],
    seed: int,
    data: str | None,
    backends: tuple[str, ...],
    output: str | None,
    mode: str | None,
    allow_external: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Compare the modules of the SPECs with their formulas, numerically.

    Values are compared with an interpreter of the formulas, derivatives with its
    complex steps and their differences, objects with their dense arrays: at random
    points of small sizes, and a larger one. Modules are taken as they are on disk;
    what is not there is generated in memory. Exit code 1 says that something is wrong.
    """
    paths, function = _told_apart(specs)
    folder = Path(output) if output else None
    # "all" is no mode of the settings: it says which modules are made.
    given = Settings(folder, backends, None, None, allow_external)
    voice = Voice(quiet)
    own = read_data(voice, data)
    found = _Work(given, voice, seed, mode, function, own).all(paths)
    if found is None:
        raise SystemExit(WRONG)
    from tensorgen.verify import BAD, table

    rows = [finding.as_json() for finding in found]
    text = json.dumps(rows, indent=2) + "\n" if as_json else table(found)
    streams.write(text)
    return STALE if any(x.verdict in BAD for x in found) else FINE


def _told_apart(specs: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
    """The files, and the function: a name at the end that is no file."""
    last = specs[-1]
    if len(specs) > 1 and last.isidentifier() and not Path(last).exists():
        return specs[:-1], last
    return specs, None


class _Work:
    """Verifies the modules of every file."""

    def __init__(
        self,
        given: Settings,
        voice: Voice,
        seed: int,
        mode: str | None,
        function: str | None,
        data: dict[str, Any] | None,
    ) -> None:
        self.given, self.voice, self.seed = given, voice, seed
        self.mode, self.function = mode, function
        self.data = data

    def all(self, specs: tuple[str, ...]) -> list[Finding] | None:
        """Return what is found of all specs, or None after saying what is wrong."""
        found: list[Finding] = []
        fine = True
        with self.voice.progress(specs) as bar:
            for spec in dict.fromkeys(specs):
                own = self._of(spec)
                fine = fine and own is not None
                found += own or []
                bar.advance()
        return found if fine else None

    def _of(self, path: str) -> list[Finding] | None:
        settings = self.given.over(read_settings(Path(path).absolute().parent))
        source = self.voice.read(path)
        if source is None:
            return None
        from tensorgen.spec.read import read_spec
        from tensorgen.verify import Verification

        with self.voice.working(source):
            spec = read_spec(source, settings.allow_external)
            own = Verification(spec, self.seed, self.data, watch=self.voice.watch)
            if self.function in (None, *own.names):
                return self._verified(own, spec, source, settings)
            hint = suggest(self.function or "", own.names)
            hint = hint or f"known: {', '.join(own.names)}"
            message = f"{path} has no function '{self.function}'; {hint}"
            self.voice.wrong(message, path)
        return None

    def _verified(
        self, own: Verification, spec: Spec, source: Source, settings: Settings
    ) -> list[Finding]:
        from tensorgen.verify import Finding
        from tensorgen.verify.verified_modules import why_not

        found: list[Finding] = []
        subjects: list[Subject] = []
        for backend in settings.backends or spec.backends:
            name = f"{spec.module}_{backend}.py"
            if reason := why_not(backend):
                found.append(Finding(ALL, name, "all", reason=reason))
                continue
            for mode in MODES if self.mode == ALL else (self.mode,):
                made = subject(
                    self.voice, spec, source, settings, backend, mode, "verifying"
                )
                if isinstance(made, str):
                    wrong = Finding(ALL, name, "import", verdict="WRONG", reason=made)
                    found.append(wrong)
                    continue
                subjects.append(made)
                found += own.verify(made, self.function)
        for other in subjects[1:]:
            found += own.agreed(subjects[0], other, self.function)
        return found
