"""`tensorgen explain`: what the functions of a spec become, and why."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tensorgen.cli import options, streams
from tensorgen.cli.codes import BACKENDS, FINE, FORMATS, MODES, WRONG
from tensorgen.cli.settings import read_settings
from tensorgen.cli.voice import Voice

if TYPE_CHECKING:
    from tensorgen.explanation.subjects import Explained


@click.command("explain")
@click.argument("spec", metavar="SPEC")
@click.argument("function", required=False)
@options.backend(f"Whose statements are shown; by default those for {BACKENDS[0]}.")
@options.mode(f"The order of differentiation; by default {MODES[0]}.")
@click.option("--latex", "shape", flag_value="latex", help="Print formulas as LaTeX.")
@click.option(
    "--matrix",
    "in_matrices",
    is_flag=True,
    help="With --latex: in matrix notation, what has one.",
)
@click.option(
    "--dot",
    "shape",
    flag_value="dot",
    help="Print the graph of computations as Graphviz DOT.",
)
@click.option("--steps", "shape", flag_value="steps", help="Print what each pass did.")
@click.option(
    "--blocks", metavar="DIM", help="Print what blocks of rows of a dim give."
)
@click.option("--html", metavar="FILE", help="Write all of it to a page.")
@click.option(
    "--svg", metavar="FILE", help="Draw the graph of computations (needs Graphviz)."
)
@click.option("--force", is_flag=True, help="Overwrite files that were not generated.")
@options.allow_external(
    "Explain specs that name functions from outside; none of them is called."
)
@options.quiet
@options.form
def command(
    spec: str,
    function: str | None,
    backend: str,
    mode: str | None,
    shape: str | None,
    in_matrices: bool,
    blocks: str | None,
    html: str | None,
    svg: str | None,
    force: bool,
    allow_external: bool,
    quiet: bool,
    form: str,
) -> int:
    """Explain the functions of SPEC, or of FUNCTION: formulas, costs, statements."""
    if blocks is not None:
        return _told_of_blocks(
            Voice(quiet, form=form), spec, blocks, mode, allow_external
        )
    if in_matrices and shape != "latex":
        raise click.UsageError(
            "--matrix needs --latex: other outputs have both notations."
        )
    to_stdout = shape is not None or (html is None and svg is None)
    if form != FORMATS[0] and to_stdout:
        raise click.UsageError(
            "--format needs stdout: write the explanation to a file by --html or --svg."
        )
    voice = Voice(quiet, form=form)
    try:
        told = _explained(voice, spec, function, backend, mode, allow_external)
        if told is None:
            sys.exit(WRONG)
        if to_stdout:
            streams.write(_text(told, shape, in_matrices))
        if not _write(voice, told, html, svg, force):
            sys.exit(WRONG)
    finally:
        voice.finish()
    return FINE


def _told_of_blocks(
    voice: Voice, spec: str, size: str, mode: str | None, allow_external: bool
) -> int:
    """Print what blocks of rows give, or report what is wrong."""
    from tensorgen.explanation.row_rounds import row_rounds
    from tensorgen.explanation.subjects import UnknownFunctionError

    settings, text = read_settings(Path(spec).absolute().parent), None
    source = voice.read(spec)
    if source is not None:
        with voice.progress([spec]), voice.working(source, UnknownFunctionError):
            allowed = allow_external or settings.allow_external
            text = row_rounds(source, size, mode or settings.mode or MODES[0], allowed)
    voice.finish()
    if text is None:
        sys.exit(WRONG)
    streams.write(text)
    return FINE


def _explained(
    voice: Voice,
    spec: str,
    function: str | None,
    backend: str,
    mode: str | None,
    allow_external: bool,
) -> Explained | None:
    """What is shown, or None after reporting what is wrong."""
    from tensorgen.explanation.subjects import UnknownFunctionError, explained

    settings = read_settings(Path(spec).absolute().parent)
    source = voice.read(spec)
    if source is None:
        return None
    with voice.progress([spec]), voice.working(source, UnknownFunctionError):
        return explained(
            source,
            function,
            backend,
            mode or settings.mode or MODES[0],
            watch=voice.watch,
            allow_external=allow_external or settings.allow_external,
        )
    return None


def _text(told: Explained, shape: str | None, in_matrices: bool) -> str:
    """What goes to standard output."""
    if shape is None:
        from tensorgen.explanation.report import report

        return report(told)
    if shape == "latex":
        from tensorgen.explanation.latex import latex

        return latex(told, in_matrices)
    if shape == "dot":
        from tensorgen.explanation.dag import dot

        return dot(told)
    from tensorgen.explanation.passes import passes

    return passes(told)


def _write(
    voice: Voice, told: Explained, html: str | None, svg: str | None, force: bool
) -> bool:
    """Write the page and the picture, or say what is in the way."""
    if html is None and svg is None:
        return True
    from tensorgen.explanation.dag import dot
    from tensorgen.explanation.drawing import NoGraphvizError, drawn
    from tensorgen.explanation.page import page
    from tensorgen.explanation.written_files import ForeignFileError, write_file

    try:
        texts = {html: page(told)} if html is not None else {}
        if svg is not None:
            texts[svg] = drawn(dot(told))
        for path, text in texts.items():
            written = write_file(Path(path), text, force=force)
            voice.tell(f"{'wrote' if written else 'unchanged'} {path}")
    except NoGraphvizError as error:
        voice.wrong(str(error))
        return False
    except ForeignFileError as error:
        voice.wrong(f"{error}; --force overwrites it", str(error.path))
        return False
    return True
