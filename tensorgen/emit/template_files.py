"""Where the templates are: in the installed package, or at the top of a checkout."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from jinja2 import Environment

# Present in every copy of the folder, so that some other folder is not taken for it.
_MARKER = "common/module.py.j2"


def template_folder() -> Traversable:
    """Return the folder of templates; FileNotFoundError where there is none.

    A wheel carries it as `tensorgen/templates`; a checkout, also when it is installed
    as editable, has it beside the package.
    """
    package = files("tensorgen")
    candidates: list[Traversable] = [package.joinpath("templates")]
    if isinstance(package, Path):
        candidates.append(package.parent / "templates")
    for folder in candidates:
        if folder.joinpath(_MARKER).is_file():
            return folder
    places = " or ".join(str(folder) for folder in candidates)
    raise FileNotFoundError(f"no templates of tensorgen in {places}; reinstall it")


@cache
def environment(folder: str) -> Environment:
    """Return the Jinja environment in which `folder`'s pieces replace the common."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    root = template_folder()

    def load(name: str) -> str | None:
        for place in (folder, "common"):
            source = root.joinpath(place, name)
            if source.is_file():
                return source.read_text(encoding="utf-8")
        return None

    # What is rendered is Python, laid out afterwards: nothing is escaped for HTML.
    result = Environment(
        loader=FunctionLoader(load),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    result.filters["suffix"] = lambda text, suffix: f"{text}{suffix}"
    return result
