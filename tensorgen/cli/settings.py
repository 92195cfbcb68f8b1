"""Settings: what the command line says, or `[tool.tensorgen]` in pyproject.toml."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import click

from tensorgen.cli.codes import BACKENDS, MODES, SUPPORT
from tensorgen.errors import suggest
from tensorgen.files import LARGEST_TEXT, read_regular


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says, or `[tool.tensorgen]` in pyproject.toml.

    `specs` are patterns of files, for the build hooks alone.
    """

    output: Path | None = None
    backends: tuple[str, ...] = ()
    mode: str | None = None
    support: str | None = None
    allow_external: bool = False
    specs: tuple[str, ...] = ()

    def over(self, other: Settings) -> Settings:
        """Return these settings, and those of others where they say nothing."""
        own = (getattr(self, x.name) or getattr(other, x.name) for x in fields(self))
        return Settings(*own)


def read_settings(folder: Path) -> Settings:
    """Return the settings that apply to the specs of a folder."""
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
        raise ValueError("'output', 'mode' and 'support' are strings")
    allowed = table.get("allow-external", False)
    if not isinstance(allowed, bool):
        raise ValueError("'allow-external' is true or false")
    if output and "\0" in output:
        raise ValueError("'output' is no path: it contains the character U+0000")
    if mode is not None and mode not in MODES:
        raise ValueError(_not_one_of(f"the mode '{mode}'", mode, MODES))
    if support is not None and support not in SUPPORT:
        wrong = f"the place '{support}' of support code"
        raise ValueError(_not_one_of(wrong, support, SUPPORT))
    backends, specs = table.get("backends", []), table.get("specs", [])
    if not isinstance(backends, list):
        raise ValueError("'backends' is a list of names")
    if not isinstance(specs, list) or not all(isinstance(x, str) for x in specs):
        raise ValueError("'specs' is a list of patterns of paths, for build hooks")
    for pattern in specs:
        if not pattern or Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            raise ValueError(f"'{pattern}' in 'specs' is no path below the project")
    for backend in backends:
        if backend not in BACKENDS:
            wrong = f"the backend '{backend}'"
            raise ValueError(_not_one_of(wrong, str(backend), BACKENDS))
    place = None if output is None else folder / output
    return Settings(place, tuple(backends), mode, support, allowed, tuple(specs))


def _not_one_of(what: str, name: str, known: tuple[str, ...]) -> str:
    return f"{what} is unknown; {suggest(name, known) or 'known: ' + ', '.join(known)}"
