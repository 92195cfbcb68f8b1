"""The files that the specs of a project ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tensorgen.cli.settings import Settings, read_settings
from tensorgen.errors import Source
from tensorgen.files import LARGEST_TEXT, read_regular


class WrongSettingsError(Exception):
    """What `[tool.tensorgen]` says cannot be built."""


def wanted(root: Path) -> Settings | None:
    """Return the settings of a project, or None if it names no specs to build from."""
    if not (root / "pyproject.toml").is_file():
        return None
    settings = read_settings(root)
    return settings if settings.specs else None


def modules(root: Path, settings: Settings) -> dict[Path, str]:
    """Return the text of each file by its path below the root, as `gen` would write it.

    Raises `SpecError` for a wrong spec, and `WrongSettingsError`.
    """
    from tensorgen.pipeline import compile_spec

    found: dict[Path, str] = {}
    for path in _specs(root, settings.specs):
        folder = settings.output or path.parent
        if not folder.resolve().is_relative_to(root.resolve()):
            message = "[tool.tensorgen]: 'output' lies outside of the project"
            raise WrongSettingsError(message)
        name = path.relative_to(root).as_posix()
        files = compile_spec(
            Source.decode(name, read_regular(path, LARGEST_TEXT).data),
            settings.backends or None,
            settings.mode or "cross-country",
            support=settings.support,
            in_package=(folder / "__init__.py").is_file(),
            allow_external=settings.allow_external,
        )
        place = folder.resolve().relative_to(root.resolve())
        found |= {place / x: text for x, text in files.items()}
    return found


def _specs(root: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    known: dict[Path, None] = {}
    for pattern in patterns:
        files = sorted(x for x in root.glob(pattern) if x.is_file())
        if not files:
            raise WrongSettingsError(
                f"[tool.tensorgen]: no file below {root} is meant by '{pattern}'"
            )
        known |= dict.fromkeys(files)
    yield from known


def write_beside(root: Path, files: dict[Path, str]) -> None:
    """Write the files into the project itself, where an editable install finds them.

    Files that are not ours, or were changed, are left alone: `ForeignFileError`.
    """
    from tensorgen.pipeline import write

    write.write_files({root / path: text for path, text in files.items()})
