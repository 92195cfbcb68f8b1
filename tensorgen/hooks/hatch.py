"""The build hook of Hatch: `[tool.hatch.build.targets.wheel.hooks.tensorgen]`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.plugin import hookimpl

from tensorgen.errors import SpecError
from tensorgen.hooks.project_files import (
    WrongSettingsError,
    modules,
    wanted,
    write_beside,
)


class TensorgenBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the modules of a project's specs to its wheel.

    They go to where they would stand beside their specs. An editable install has them
    there, in the project.
    """

    PLUGIN_NAME = "tensorgen"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Generate the modules; ends the build where a spec is wrong."""
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        try:
            settings = wanted(root)
            if settings is None:
                raise WrongSettingsError(
                    "pyproject.toml: [tool.tensorgen] has no 'specs'"
                )
            files = modules(root, settings)
        except (SpecError, WrongSettingsError) as error:
            self.app.abort(str(error))
            return
        if version == "editable":
            write_beside(root, files)
            return
        self._folder = tempfile.TemporaryDirectory(prefix="tensorgen-")
        for path, text in files.items():
            made = Path(self._folder.name) / path
            made.parent.mkdir(parents=True, exist_ok=True)
            made.write_text(text, encoding="utf-8", newline="\n")
            place = self.build_config.get_distribution_path(str(path))
            build_data["force_include"][str(made)] = place

    def finalize(
        self, version: str, build_data: dict[str, Any], artifact_path: str
    ) -> None:
        """Remove what has been packed."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()


@hookimpl
def hatch_register_build_hook() -> type[BuildHookInterface]:  # type: ignore[type-arg]
    """Return the hook, by whose name projects ask for it."""
    return TensorgenBuildHook
