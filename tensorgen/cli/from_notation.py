"""`tensorgen from`: the spec of a formula in another notation."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

import click

from tensorgen.cli import options, streams
from tensorgen.cli.codes import FINE, NOTATIONS, WRONG
from tensorgen.cli.voice import Voice
from tensorgen.errors import Source
from tensorgen.files import LARGEST_TEXT

_SEAL = "# Written by tensorgen from; lines below: sha256 {}."
_SEALED = re.compile(_SEAL.replace(".", r"\.").format("([0-9a-f]{12})").encode())
STDIN, TEXT = "<stdin>", "<text>"


@click.command("from")
@click.argument("file", required=False, metavar="FILE")
@click.option("--text", help="The formula itself, in place of a FILE.")
@click.option(
    "--as",
    "notation",
    type=click.Choice(NOTATIONS),
    help="The notation; by default guessed from FILE's name, or from what is in it.",
)
@click.option("-o", "--output", metavar="SPEC", help="Write this file; else print.")
@click.option(
    "--wrt", multiple=True, metavar="NAME", help="What to differentiate by; repeatable."
)
@click.option(
    "--emit",
    multiple=True,
    metavar="KIND",
    help="What to emit, such as hessian; repeatable, or with commas between.",
)
@click.option("--force", is_flag=True, help="Overwrite a SPEC that is there.")
@options.quiet
def command(
    file: str | None,
    text: str | None,
    notation: str | None,
    output: str | None,
    wrt: tuple[str, ...],
    emit: tuple[str, ...],
    force: bool,
    quiet: bool,
) -> int:
    """Write the spec of a formula in MatrixCalculus.org's, GENO's or LaTeX's notation.

    FILE may be - for standard input. Nothing that is read is run.
    """
    if (file is None) == (text is None):
        raise click.UsageError("say FILE, or --text with a formula.")
    voice = Voice(quiet)
    source = _source(file, text, voice)
    if source is None:
        sys.exit(WRONG)
    made = None
    with voice.working(source):
        made = _spec(source, notation, output, _split(wrt), _split(emit), voice)
    if made is None:
        sys.exit(WRONG)
    if output is None:
        streams.write(made)
        return FINE
    return _write(Path(output), made, force, voice)


def _split(given: tuple[str, ...]) -> tuple[str, ...]:
    words = (word.strip() for one in given for word in one.split(","))
    return tuple(dict.fromkeys(word for word in words if word))


def _source(file: str | None, text: str | None, voice: Voice) -> Source | None:
    if text is not None:
        return Source(TEXT, text)
    if file != "-":
        return voice.read(str(file))
    data = sys.stdin.buffer.read(LARGEST_TEXT + 1)
    if len(data) > LARGEST_TEXT:
        voice.wrong(f"standard input has more than {LARGEST_TEXT:,} bytes")
        return None
    with voice.working(Source(STDIN, "")):
        return Source.decode(STDIN, data)
    return None


def _spec(
    source: Source,
    notation: str | None,
    output: str | None,
    wrt: tuple[str, ...],
    emit: tuple[str, ...],
    voice: Voice,
) -> str:
    """The text of the spec, with its checksum; says what was assumed."""
    from tensorgen.frontends.notations import NOTATIONS, guess_notation, module_name
    from tensorgen.frontends.write_spec import Asked

    name = notation or guess_notation(source)
    asked = Asked(module_name(output or source.name), wrt, emit)
    found = NOTATIONS[name].read(source, asked)
    for remark in found.remarks:
        voice.tell(f"note: {remark}")
    return sealed(found.spec)


def sealed(spec: str) -> str:
    """Return a spec with a first line that shows whether it was changed since."""
    digest = hashlib.sha256(spec.encode()).hexdigest()[:12]
    return f"{_SEAL.format(digest)}\n{spec}"


def foreign(data: bytes) -> str | None:
    """Return why a file is not one to overwrite; None if it is ours, unchanged."""
    first, _, rest = data.replace(b"\r\n", b"\n").partition(b"\n")
    found = _SEALED.fullmatch(first)
    if found is None:
        return "exists and was not written by tensorgen from"
    same = hashlib.sha256(rest).hexdigest()[:12] == found[1].decode()
    return None if same else "was changed since tensorgen wrote it"


def _write(place: Path, spec: str, force: bool, voice: Voice) -> int:
    """Write the spec, or say why not; return the exit code."""
    from tensorgen.emit import write

    try:
        written = write.write_files({place: spec}, force=force, foreign=foreign)
    except write.ForeignFileError as error:
        voice.wrong(f"{error}; name another file, or use --force", str(place))
        sys.exit(WRONG)
    done = "wrote" if written else "unchanged"
    voice.tell(f"{done} {place}; next: tensorgen gen {place}")
    return FINE
