"""What commands run: modules, from disk or as they would be written, and data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorgen.cli.codes import MODES, WRONG
from tensorgen.cli.settings import Settings
from tensorgen.cli.voice import Voice
from tensorgen.errors import Source

if TYPE_CHECKING:
    from tensorgen.spec.model import Spec
    from tensorgen.verify import Subject


def subject(
    voice: Voice,
    spec: Spec,
    source: Source,
    settings: Settings,
    backend: str,
    mode: str | None,
    doing: str,
) -> Subject | str:
    """Return a module from disk, unless it is not there or a mode is asked for.

    Or what it raises when it is imported.
    """
    from tensorgen.verify import generated, on_disk

    folder = settings.output or Path(source.name).parent
    path = folder / f"{spec.module}_{backend}.py"
    if mode is None and path.is_file():
        voice.tell(f"{doing} {path}")
        try:
            return on_disk(path, backend)
        except Exception as error:  # whatever a module raises
            return f"it raises {type(error).__name__}: {error}"
    if mode is None:
        voice.tell(f"{path} is not there: {doing} what gen would write")
    from tensorgen.pipeline import compile_spec

    mode = mode or settings.mode or MODES[0]
    (text,) = compile_spec(
        source,
        [backend],
        mode,
        laid_out=False,
        checked=False,
        support="inline",
        allow_external=settings.allow_external,
    ).values()
    name = f"{path.name} ({mode}, in memory)"
    return generated(text, name, backend, source.name, mode)


def read_data(voice: Voice, path: str | None) -> dict[str, Any] | None:
    """Return the arrays of a file, if one is given; exit where it is a wrong one."""
    if path is None:
        return None
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as file:
            if not hasattr(file, "files"):
                raise ValueError("it is a single array without a name; use .npz")
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error)
    except Exception as error:  # of a broken archive, in many kinds
        reason = str(error)
    voice.wrong(f"cannot read {path}: {reason}", path)
    raise SystemExit(WRONG)
