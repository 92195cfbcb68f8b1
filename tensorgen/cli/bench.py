"""`tensorgen bench`: how long emitted functions take, beside model and JAX."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tensorgen.cli import options, streams
from tensorgen.cli.codes import BACKENDS, FINE, MODES, STALE, WRONG
from tensorgen.cli.modules_and_data import read_data, subject
from tensorgen.cli.settings import Settings, read_settings
from tensorgen.cli.voice import Voice
from tensorgen.errors import Source

if TYPE_CHECKING:
    from tensorgen.bench import Row

LEAST = 0.001
"""Seconds below which a function is hardly called."""


def _dims(
    context: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> dict[str, int]:
    """Return sizes by their names, of texts like n=100,m=20."""
    found: dict[str, int] = {}
    for part in (x for text in given for x in text.split(",")):
        name, sign, size = (x.strip() for x in part.partition("="))
        if not name.isidentifier() or not sign:
            raise click.BadParameter(f"'{part}' is no size: n=100,m=20 is expected")
        if not size.isdecimal() or int(size) < 1:
            raise click.BadParameter(f"'{part}': a size is a positive integer")
        found[name] = int(size)
    return found


@click.command("bench")
@click.argument("spec", metavar="SPEC")
@click.argument("function", required=False)
@click.option(
    "--dims",
    multiple=True,
    callback=_dims,
    metavar="n=100,m=20",
    help="Sizes; by default those that the spec hints at, 1000 where it hints at none.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=LEAST),
    default=0.5,
    help="How long each function is called repeatedly; by default 0.5.",
)
@options.data("The arguments: inputs, and sizes in no shape, by their names.")
@click.option("--seed", type=int, default=0, help="Seed of the random arguments.")
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=1,
    help="How many threads NumPy and JAX may use; by default 1.",
)
@options.backend(f"Which module; by default {BACKENDS[0]}'s.")
@options.output("Where the module is; by default beside the spec.")
@options.mode("Generate the module in memory in this order of differentiation.")
@click.option("--no-jax", is_flag=True, help="Leave out JAX even if it is installed.")
@options.allow_external(
    "Let the module import and call the functions that the spec names."
)
@click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON.")
@options.quiet
def command(
    spec: str,
    function: str | None,
    dims: dict[str, int],
    seconds: float,
    data: str | None,
    seed: int,
    threads: int,
    backend: str,
    output: str | None,
    mode: str | None,
    no_jax: bool,
    allow_external: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Time the functions of SPEC, or of FUNCTION, beside their modelled cost.

    Arguments are random, of the sizes that the spec hints at, and satisfy its
    promises. Each result is compared before it is timed: with JAX, which is timed in
    turns with it, or with the formula. The module is taken as it is on disk; if it is
    not there, it is generated in memory. Exit code 1 reports that a result is wrong.
    """
    _limit(threads)
    settings = Settings(
        Path(output) if output else None, (backend,), mode, None, allow_external
    )
    without = "--no-jax leaves it out" if no_jax else ""
    if not no_jax and find_spec("jax") is None:
        without = "JAX is not installed"
    voice = Voice(quiet)
    own = read_data(voice, data)
    asked = _Asked(function, dims, seconds, seed, without, own)
    found = _benched(voice, spec, settings, asked)
    if found is None:
        raise SystemExit(WRONG)
    rows, told = found
    told = {**told, "threads": str(threads), **_versions(backend, not without)}
    from tensorgen.bench import as_json as plain
    from tensorgen.bench import table

    text = json.dumps(plain(rows, told), indent=2) + "\n" if as_json else ""
    streams.write(text or table(rows, told))
    return STALE if any(row.answer.is_wrong for row in rows) else FINE


@dataclass(frozen=True)
class _Asked:
    """What is timed, at which sizes, for how long, and with what beside it."""

    function: str | None
    dims: Mapping[str, int]
    seconds: float
    seed: int
    no_jax: str
    data: dict[str, Any] | None


def _limit(threads: int) -> None:
    """Have libraries use so many threads; they read this when they are imported."""
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[name] = str(threads)
    many = "true" if threads > 1 else "false"
    flags = (
        f"--xla_cpu_multi_thread_eigen={many} intra_op_parallelism_threads={threads}"
    )
    os.environ.setdefault("XLA_FLAGS", flags)


def _versions(backend: str, has_jax: bool) -> dict[str, str]:
    from importlib.metadata import version

    names = [backend, *["jax"] * has_jax]
    found = []
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except Exception:  # cupy-cuda12x is called otherwise
            found.append(name)
    return {"with": ", ".join(found)}


def _benched(
    voice: Voice, path: str, given: Settings, asked: _Asked
) -> tuple[list[Row], dict[str, str]] | None:
    """The rows and what was run, or None after saying what is wrong."""
    settings = given.over(read_settings(Path(path).absolute().parent))
    source = voice.read(path)
    if source is None:
        return None
    from tensorgen.bench import WrongSizesError
    from tensorgen.explanation.subjects import UnknownFunctionError

    faults = (UnknownFunctionError, WrongSizesError, _WrongError)
    with voice.progress([path]), voice.working(source, *faults):
        return _rows(voice, source, given, settings, asked)
    return None


def _rows(
    voice: Voice, source: Source, given: Settings, settings: Settings, asked: _Asked
) -> tuple[list[Row], dict[str, str]]:
    from tensorgen.bench import Bench
    from tensorgen.explanation.subjects import explained
    from tensorgen.verify.verified_modules import why_not

    (backend,) = given.backends
    if reason := why_not(backend):
        raise _WrongError(f"modules for {backend} cannot be run here: {reason}")
    told = explained(
        source,
        asked.function,
        backend,
        settings.mode or MODES[0],
        voice.watch,
        settings.allow_external,
        in_all_modes=False,
    )
    module = subject(voice, told.spec, source, settings, backend, given.mode, "timing")
    if isinstance(module, str):
        raise _WrongError(f"the module cannot be imported: {module}")
    bench = Bench(
        told,
        module,
        asked.dims,
        asked.seed,
        asked.seconds,
        asked.no_jax,
        asked.data,
        voice.watch,
    )
    return bench.rows(), {"module": module.name}


class _WrongError(Exception):
    """What was asked for cannot be done."""
