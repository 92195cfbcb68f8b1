"""The build hook of setuptools: `specs` under `[tool.tensorgen]` switches it on.

Setuptools calls `finalize` in every build while tensorgen is installed; where the
project names no specs it does nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from setuptools import Distribution
from setuptools.command.build_py import build_py
from setuptools.errors import SetupError

from tensorgen.errors import SpecError
from tensorgen.hooks.project_files import (
    WrongSettingsError,
    modules,
    wanted,
    write_beside,
)


def finalize(distribution: Distribution) -> None:
    """Have `build_py` add the modules of the project's specs."""
    root = Path.cwd()
    if wanted(root) is not None:
        base = distribution.get_command_class("build_py") or build_py
        more = type("build_py", (Modules, base), {})
        distribution.cmdclass["build_py"] = more


class Modules(build_py):  # type: ignore[misc]
    """A `build_py` that writes generated modules into the packages of their specs.

    An editable install has them in the project, beside the specs.
    """

    def run(self) -> None:
        """Copy what is there, and generate the rest; raises `SetupError`."""
        super().run()
        root = Path.cwd()
        settings = wanted(root)
        assert settings is not None
        try:
            files = modules(root, settings)
        except (SpecError, WrongSettingsError) as error:
            raise SetupError(str(error)) from error
        self._made = []
        if self.editable_mode:
            write_beside(root, files)
            return
        for path, text in files.items():
            made = Path(self.build_lib) / self._place(path)
            made.parent.mkdir(parents=True, exist_ok=True)
            made.write_text(text, encoding="utf-8", newline="\n")
            self._made.append(str(made))

    def _place(self, path: Path) -> Path:
        for package in self.packages or ():
            if path.parent == Path(self.get_package_dir(package)):
                return Path(*package.split(".")) / path.name
        raise SetupError(f"{path} would be in no package of the project")

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """Return what is installed, with what was generated."""
        found: list[Any] = super().get_outputs(include_bytecode)
        return [*found, *getattr(self, "_made", ())]
