"""The versions that matter when something differs between two machines."""

from __future__ import annotations

import platform

import click

from tensorgen import __version__

NEEDED = ("numpy", "click", "PyYAML", "jinja2", "black")
OPTIONAL = ("scipy", "cupy", "jax", "watchfiles", "starlette")


def show_versions(
    context: click.Context, parameter: click.Parameter, wanted: bool
) -> None:
    """Print them, one a line, the own one first, and leave."""
    if not wanted or context.resilient_parsing:
        return
    click.echo("\n".join(versions()))
    context.exit()


def versions() -> list[str]:
    """Each as a line."""
    from importlib.metadata import PackageNotFoundError, version

    lines = [f"tensorgen {__version__}"]
    lines.append(f"Python {platform.python_version()} on {platform.system()}")
    for name in (*NEEDED, *OPTIONAL):
        # CuPy's packages bear the name of their CUDA.
        names = [name, "cupy-cuda12x", "cupy-cuda13x"] if name == "cupy" else [name]
        for own in names:
            try:
                lines.append(f"{own} {version(own)}")
                break
            except PackageNotFoundError:
                continue
        else:
            if name in NEEDED:
                lines.append(f"{name} is missing")
    return lines
