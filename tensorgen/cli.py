"""The command line. What it says goes to stderr; code and diffs go to stdout."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import traceback
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NoReturn

import click

from tensorgen import __version__, streams
from tensorgen.errors import (
    Diagnostic,
    Remark,
    Source,
    SpecError,
    printable,
    suggest,
)
from tensorgen.files import LARGEST_TEXT, read_regular

FINE, STALE, WRONG, BUG = 0, 1, 2, 3
INTERRUPTED = 130  # as shells have it
BACKENDS = ("numpy", "cupy")
MODES = ("cross-country", "reverse", "forward")
SUPPORT = ("inline", "shared")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tensorgen")
def cli() -> None:
    """Compile tensor functions to NumPy and CuPy modules with exact derivatives."""


@cli.command()
@click.argument("specs", nargs=-1, required=True, metavar="SPEC...")
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    help="Where to write; by default beside each spec.",
)
@click.option(
    "-b",
    "--backend",
    "backends",
    multiple=True,
    type=click.Choice(BACKENDS),
    help="What to generate for; by default what the spec says, or both.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if files are stale.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change.")
@click.option("--stdout", is_flag=True, help="Write nothing; print the code.")
@click.option(
    "--force", is_flag=True, help="Overwrite files that are not ours, or were changed."
)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    help=f"The order of differentiation; by default {MODES[0]}.",
)
@click.option(
    "--support",
    type=click.Choice(SUPPORT),
    help="Where checks, derivative objects and the like stand: in each module what it"
    " uses, or in one file beside them all; by default what the spec says, or inline.",
)
@click.option(
    "--allow-external",
    is_flag=True,
    help="Let modules import and call the functions that specs name as external.",
)
@click.option(
    "--fast", is_flag=True, help="Do not check that functions compute their formulas."
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but what is wrong.")
@click.option(
    "-W",
    "warnings",
    type=click.Choice(["error"]),
    help="Write nothing, and exit 2, where there is a warning.",
)
def gen(
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
    quiet: bool,
    warnings: str | None,
) -> int:
    """Write the modules that the SPECs describe."""
    if stdout and (check or diff):
        raise click.UsageError("--stdout goes with neither --check nor --diff.")
    voice = _Voice(quiet, strict=warnings == "error")
    given = Settings(
        Path(output) if output else None, backends, mode, support, allow_external
    )
    texts = _generate_all(specs, given, fast, voice)
    if stdout:
        streams.write("".join(texts.values()))
    elif check or diff:
        return _compare(texts, check, diff)
    else:
        _write(texts, force, voice)
    return FINE


class _Voice:
    """Says what is no fault, unless it is `quiet`; if `strict`, warnings are faults."""

    def __init__(self, quiet: bool, strict: bool) -> None:
        self.quiet = quiet
        self.strict = strict
        self.faults: list[Diagnostic] = []
        self.watch = (lambda doing: None) if quiet else streams.Progress()

    def tell(self, text: str) -> None:
        """Say what came of the work."""
        if not self.quiet:
            _note(text)

    def remark(self, remark: Remark) -> None:
        """Say what is worth to be known of a spec, or keep it as a fault."""
        if remark.is_warning and self.strict:
            self.faults.append(Diagnostic(remark.message, remark.span))
        else:
            self.tell(str(remark))

    def report(self, file_name: str, report: object) -> None:
        """Say which functions were not checked, if there are any."""
        if text := str(report):
            self.tell(f"{file_name}: {text}")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says, or `[tool.tensorgen]` in pyproject.toml."""

    output: Path | None = None
    backends: tuple[str, ...] = ()
    mode: str | None = None
    support: str | None = None
    allow_external: bool = False

    def over(self, other: Settings) -> Settings:
        """Return these settings, and those of others where they say nothing."""
        own = (getattr(self, x.name) or getattr(other, x.name) for x in fields(self))
        return Settings(*own)


def read_settings(folder: Path) -> Settings:
    """Return the settings that hold for the specs of a folder."""
    import tomllib

    for place in (folder, *folder.parents):
        path = place / "pyproject.toml"
        if path.is_file():
            break
    else:
        return Settings()
    try:
        text = read_regular(path, LARGEST_TEXT).data.decode()
        table = tomllib.loads(text).get("tool", {})
    except RecursionError as error:
        raise click.UsageError(f"cannot read {path}: nested too deeply") from error
    except (ValueError, OSError) as error:
        raise click.UsageError(f"cannot read {path}: {error}") from error
    found = table.get("tensorgen", {}) if isinstance(table, dict) else {}
    try:
        return _settings(found, place)
    except ValueError as error:
        raise click.UsageError(f"{path}, [tool.tensorgen]: {error}") from error


def _settings(table: object, folder: Path) -> Settings:
    if not isinstance(table, dict):
        raise ValueError("a table is expected")
    known = tuple(x.name.replace("_", "-") for x in fields(Settings))
    for key in table:
        if key not in known:
            raise ValueError(_not_one_of(f"the key '{key}'", key, known))
    output, mode = table.get("output"), table.get("mode")
    support = table.get("support")
    if not all(isinstance(x, str | None) for x in (output, mode, support)):
        raise ValueError("'output', 'mode' and 'support' are texts")
    allowed = table.get("allow-external", False)
    if not isinstance(allowed, bool):
        raise ValueError("'allow-external' is true or false")
    if output and "\0" in output:
        raise ValueError("'output' is no path: it holds the character U+0000")
    if mode is not None and mode not in MODES:
        raise ValueError(_not_one_of(f"the mode '{mode}'", mode, MODES))
    if support is not None and support not in SUPPORT:
        wrong = f"the place '{support}' of support code"
        raise ValueError(_not_one_of(wrong, support, SUPPORT))
    backends = table.get("backends", [])
    if not isinstance(backends, list):
        raise ValueError("'backends' is a list of names")
    for backend in backends:
        if backend not in BACKENDS:
            wrong = f"the backend '{backend}'"
            raise ValueError(_not_one_of(wrong, str(backend), BACKENDS))
    place = None if output is None else folder / output
    return Settings(place, tuple(backends), mode, support, allowed)


def _not_one_of(what: str, name: str, known: tuple[str, ...]) -> str:
    return f"{what} is unknown; {suggest(name, known) or 'known: ' + ', '.join(known)}"


def _generate_all(
    specs: tuple[str, ...], given: Settings, fast: bool, voice: _Voice
) -> dict[Path, str]:
    """Return the text of every file to write, or exit with what is wrong."""
    texts: dict[Path, str] = {}
    makers: dict[str, tuple[str, Path]] = {}
    failed = False
    for spec in dict.fromkeys(specs):
        settings = given.over(read_settings(Path(spec).absolute().parent))
        folder = settings.output or Path(spec).parent
        source = _read(spec)
        files = None
        if source is not None:
            files = _compile(source, settings, folder, fast, voice)
        if files is None:
            failed = True
            continue
        for name, text in files.items():
            path = folder / name
            texts[path] = text
            shared = name.startswith("_")  # the same whoever asks; no spec is called so
            # Where a link leads; `Path.resolve` would raise where it leads nowhere.
            place = os.path.realpath(path)
            other, there = makers.setdefault(place, (spec, path))
            if other != spec and not shared:
                _note(f"error: {other} and {spec} would both write {name}")
            elif there != path:
                _note(f"error: {there} and {path} are links to one file")
            failed |= there != path or (other != spec and not shared)
    if failed:
        sys.exit(WRONG)
    return texts


def _read(spec: str) -> Source | None:
    try:
        return Source.decode(spec, read_regular(spec, LARGEST_TEXT).data)
    except SpecError as error:
        streams.say(error.render(streams.color()))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        _note(f"error: cannot read {spec}: {reason or error}")
    return None


def _compile(
    source: Source, settings: Settings, folder: Path, fast: bool, voice: _Voice
) -> dict[str, str] | None:
    """Return the files of one spec, or None after saying what is wrong with it."""
    from tensorgen.pipeline import compile_spec

    voice.faults = []
    try:
        files = compile_spec(
            source,
            settings.backends or None,
            settings.mode or MODES[0],
            watch=voice.watch,
            checked=not fast,
            note=voice.remark,
            report=voice.report,
            support=settings.support,
            in_package=(folder / "__init__.py").is_file(),
            allow_external=settings.allow_external,
        )
        if voice.faults:
            raise SpecError(voice.faults)
        return files
    except SpecError as error:
        streams.say(error.render(streams.color()))
        return None
    except Exception:
        _report_bug(source)


def _report_bug(source: Source | None = None) -> NoReturn:
    """Say that we failed, save what is needed to see why, and exit."""
    trace = traceback.format_exc()
    parts = [
        f"tensorgen {__version__}, Python {sys.version}",
        f"arguments: {sys.argv[1:]}",
        trace,
        *([f"--- {source.name}", source.text] if source else []),
    ]
    streams.say("error: this is a bug in tensorgen, not in your spec")
    _note("   " + trace.strip().splitlines()[-1])
    try:
        handle, name = tempfile.mkstemp(prefix="tensorgen-bug-", suffix=".txt")
        with open(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write("\n".join(parts))
        _note(f"   please report it together with {name}")
    except OSError:
        for line in "\n".join(parts).split("\n"):
            _note(line)
    sys.exit(BUG)


def _compare(texts: dict[Path, str], check: bool, diff: bool) -> int:
    """Say how the files on disk differ, and return the exit code."""
    from tensorgen.pipeline import write

    stale = write.stale_files(texts)
    for path in stale:
        if diff:
            streams.write(write.diff(path, texts[path]))
        if check:
            _note(f"{'stale' if path.exists() else 'missing'}: {path}")
    return STALE if check and stale else FINE


def _write(texts: dict[Path, str], force: bool, voice: _Voice) -> None:
    from tensorgen.pipeline import write

    try:
        written = write.write_files(texts, force=force)
    except write.ForeignFileError as error:
        _note(f"error: {error}; --force overwrites it")
        sys.exit(WRONG)
    for path in texts:
        voice.tell(f"{'wrote' if path in written else 'unchanged'} {path}")


def _note(text: str) -> None:
    """Say a line that may hold names of files, which may hold anything."""
    streams.say(printable(text))


def _explain(error: click.ClickException) -> None:
    """Say what is wrong with the command line."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        streams.say(context.get_usage())
        streams.say(f"Try '{context.command_path} --help' for help.\n")
    _note(f"Error: {error.format_message()}")


def main() -> None:
    """Run the command line; every way out is an exit code of the contract."""
    streams.prepare()
    # Nodes live until the end: looking for dead ones more often takes a twentieth.
    gc.set_threshold(200_000)
    # The check multiplies arrays of a few entries: threads of NumPy's would only wait.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        # Not standalone: there an interrupt exits with 1, which means "stale" here.
        code = cli.main(prog_name="tensorgen", standalone_mode=False)
    except click.ClickException as error:
        _explain(error)
        code = WRONG
    except (click.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except SystemExit as left:
        # Our own 1 is what the command returns; this one is how click ends where
        # nobody reads its help.
        code = FINE if left.code == 1 else left.code
    except OSError as error:
        streams.hush(sys.stdout)
        _note(f"error: {error.filename or 'the system'}: {error.strerror or error}")
        code = WRONG
    except Exception:
        _report_bug()
    sys.exit(code or FINE)
