"""`tensorgen gen`: the modules that specs describe, written, compared or printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import click

from tensorgen.cli import options, streams
from tensorgen.cli.codes import FINE, FORMATS, MODES, STALE, SUPPORT, WRONG
from tensorgen.cli.settings import Settings, read_settings
from tensorgen.cli.voice import Voice
from tensorgen.errors import Source, SpecError


@click.command("gen")
@click.argument("specs", nargs=-1, required=True, metavar="SPEC...")
@options.output("Where to write; by default beside each spec.")
@options.backends("What to generate for; by default as set in the spec, or both.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if files are stale.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change.")
@click.option("--stdout", is_flag=True, help="Write nothing; print the code.")
@click.option(
    "--force",
    is_flag=True,
    help="Overwrite files that were not generated or were changed.",
)
@options.mode(f"The order of differentiation; by default {MODES[0]}.")
@click.option(
    "--support",
    type=click.Choice(SUPPORT),
    help="Where checks, derivative objects and the like go: in each module what it"
    " uses, or in one file for all of them; by default as set in the spec, or inline.",
)
@options.allow_external(
    "Let modules import and call the functions that specs name as external."
)
@click.option(
    "--fast", is_flag=True, help="Do not check that functions compute their formulas."
)
@click.option(
    "--anew",
    is_flag=True,
    help="Regenerate modules that are up to date by their headers. What writes"
    " nothing trusts no header.",
)
@click.option("--exit-code", "told", is_flag=True, help="Exit 1 if a file was written.")
@click.option(
    "--watch",
    is_flag=True,
    help="Stay, and regenerate modules when a spec changes (needs watchfiles).",
)
@options.quiet
@click.option(
    "-W",
    "warnings",
    type=click.Choice(["error"]),
    help="Write nothing, and exit 2, where there is a warning.",
)
@options.form
def command(
    specs: tuple[str, ...],
    output: str | None,
    backends: tuple[str, ...],
    check: bool,
    diff: bool,
    stdout: bool,
    force: bool,
    mode: str | None,
    support: str | None,
    allow_external: bool,
    fast: bool,
    anew: bool,
    told: bool,
    watch: bool,
    quiet: bool,
    warnings: str | None,
    form: str,
) -> int:
    """Write the modules that the SPECs describe."""
    _refuse_both(stdout, check, diff, watch, form)
    given = Settings(
        Path(output) if output else None, backends, mode, support, allow_external
    )
    strict = warnings == "error"

    def run() -> int:
        voice = Voice(quiet, strict, form)
        try:
            # Whoever can change a module can change the checksum in its header.
            compares = check or diff or stdout
            work = _Work(given, voice, not fast, anew or strict or compares)
            texts = work.texts(specs)
            if texts is None:
                return WRONG
            if stdout:
                streams.write("".join(texts.values()))
            elif check or diff:
                return _compare(texts, check, diff, voice)
            else:
                return _write(texts, force, told, voice)
            return FINE
        finally:
            voice.finish()

    if watch:
        watched(specs, run)
        return FINE
    code = run()
    if code == WRONG:
        sys.exit(WRONG)
    return code


def _refuse_both(stdout: bool, check: bool, diff: bool, watch: bool, form: str) -> None:
    """Say which options go with no others."""
    if stdout and (check or diff):
        raise click.UsageError("--stdout goes with neither --check nor --diff.")
    if watch and (check or diff or stdout):
        raise click.UsageError(
            "--watch writes: it goes with no --check, --diff, --stdout."
        )
    if form != FORMATS[0] and (stdout or diff):
        raise click.UsageError("--format needs stdout, as --stdout and --diff do.")


class _Work:
    """Makes the text of every file that specs ask for."""

    def __init__(
        self, given: Settings, voice: Voice, checked: bool, anew: bool
    ) -> None:
        self.given = given
        self.voice = voice
        self.checked = checked
        self.anew = anew

    def texts(self, specs: tuple[str, ...]) -> dict[Path, str] | None:
        """Return the texts, or None after saying what is wrong."""
        found: dict[Path, str] = {}
        makers: dict[str, tuple[str, Path]] = {}
        fine = True
        with self.voice.progress(specs) as bar:
            for spec in dict.fromkeys(specs):
                own = self._of(spec)
                fine = own is not None and self._alone(spec, own, makers) and fine
                found.update(own or {})
                bar.advance()
        return found if fine else None

    def _alone(
        self, spec: str, own: Iterable[Path], makers: dict[str, tuple[str, Path]]
    ) -> bool:
        """Whether nothing else is to write these files."""
        fine = True
        for path in own:
            # Support code is the same whoever asks; no spec's module is called so.
            shared = path.name.startswith("_")
            # Where a link leads; `Path.resolve` would raise where it leads nowhere.
            place = os.path.realpath(path)
            other, there = makers.setdefault(place, (spec, path))
            if other != spec and not shared:
                message = f"{other} and {spec} would both write {path.name}"
                self.voice.wrong(message, spec)
            elif there != path:
                self.voice.wrong(f"{there} and {path} are links to one file", spec)
            fine &= there == path and (other == spec or shared)
        return fine

    def _of(self, spec: str) -> dict[Path, str] | None:
        """The files of one spec, or None after saying what is wrong with it."""
        settings = self.given.over(read_settings(Path(spec).absolute().parent))
        folder = settings.output or Path(spec).parent
        source = self.voice.read(spec)
        if source is None:
            return None
        with self.voice.working(source):
            files = self._known(source, settings, folder)
            if files is None:
                files = self._made(source, settings, folder)
            return {folder / name: text for name, text in files.items()}
        return None

    def _known(
        self, source: Source, settings: Settings, folder: Path
    ) -> dict[str, str] | None:
        """The files as they are, where they are up to date."""
        if self.anew:
            return None
        from tensorgen.emit.uptodate import up_to_date

        return up_to_date(
            source,
            folder,
            settings.backends or None,
            settings.mode or MODES[0],
            settings.support,
            _is_package(folder),
            settings.allow_external,
        )

    def _made(self, source: Source, settings: Settings, folder: Path) -> dict[str, str]:
        from tensorgen.pipeline import compile_spec

        self.voice.faults = []
        files = compile_spec(
            source,
            settings.backends or None,
            settings.mode or MODES[0],
            watch=self.voice.watch,
            checked=self.checked,
            note=self.voice.remark,
            support=settings.support,
            in_package=_is_package(folder),
            allow_external=settings.allow_external,
        )
        if self.voice.faults:
            raise SpecError(self.voice.faults)
        return files


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file()


def _compare(texts: dict[Path, str], check: bool, diff: bool, voice: Voice) -> int:
    """Say how the files on disk differ, and return the exit code."""
    from tensorgen.pipeline import write

    stale = write.stale_files(texts)
    for path in stale:
        if diff:
            streams.write(_coloured(write.diff(path, texts[path])))
        if check:
            voice.stale(path)
    return STALE if check and stale else FINE


COLOURS = {"+++": "bold", "---": "bold", "@@": "cyan", "+": "green", "-": "red"}


def _coloured(diff: str) -> str:
    """A difference, in colours where a person reads it."""
    if not streams.color(sys.stdout):
        return diff
    lines = []
    for line in diff.splitlines(keepends=True):
        colour = next((c for x, c in COLOURS.items() if line.startswith(x)), None)
        style = {"bold": True} if colour == "bold" else {"fg": colour}
        body = line.rstrip("\n")
        lines.append(click.style(body, **style) + "\n" if colour else line)
    return "".join(lines)


def _write(texts: dict[Path, str], force: bool, told: bool, voice: Voice) -> int:
    """Write the files, or say which one must not be written; return the exit code."""
    from tensorgen.pipeline import write

    try:
        written = write.write_files(texts, force=force)
    except write.ForeignFileError as error:
        voice.wrong(f"{error}; --force overwrites it", str(error.path))
        return WRONG
    for path in texts:
        voice.tell(f"{'wrote' if path in written else 'unchanged'} {path}")
    return STALE if told and written else FINE


SETTINGS = "pyproject.toml"


def watched(specs: Sequence[str], run: Callable[[], int]) -> None:
    """Run, and again whenever a spec or the settings change, until interrupted.

    What is wrong is said, and waits to be mended.
    """
    try:
        from watchfiles import watch
    except ImportError as error:
        message = "--watch needs watchfiles: pip install 'tensorgen[watch]'"
        raise click.UsageError(message) from error

    names = {Path(spec).absolute() for spec in specs}
    folders = {name.parent for name in names}

    def concerns(change: object, path: str) -> bool:
        return Path(path) in names or Path(path).name == SETTINGS

    run()
    streams.say(f"watching {', '.join(map(str, specs))}; press Ctrl-C to leave")
    for _ in watch(*folders, watch_filter=concerns, raise_interrupt=True):
        run()
