"""The stages behind the command line, replaced by a stand-in."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tensorgen.emit import write
from tensorgen.errors import InternalError, Remark, Span
from tests.cli.shell import Compile, Shell

UNTRUE = "# as if a pass were wrong"
UNSEEN = "# as if arrays were too large"


@pytest.fixture
def use_pipeline(monkeypatch: pytest.MonkeyPatch) -> Callable[[Compile], None]:
    """Return what makes a function take the place of `compile_spec`.

    The whole module is replaced, so that these tests are about the command line
    alone and need none of the stages.
    """

    def use(compile_spec: Compile) -> None:
        def compiled(
            *given: Any,
            watch: object = None,
            checked: bool = True,
            note: Callable[[Remark], None] = lambda remark: None,
            report: object = None,
            support: str | None = None,
            in_package: bool = False,
            allow_external: bool = False,
        ) -> dict[str, str]:
            files = compile_spec(*given)
            if checked and UNTRUE in given[0].text:
                raise InternalError("f does not compute what calculus states")
            if checked and UNSEEN in given[0].text:
                place = Span(given[0], 0, 9)
                why = "an array of it is too large"
                told = f"f_hess was not checked: {why}"
                note(Remark(told, place, "unchecked", True))
            return files

        module = ModuleType("tensorgen.pipeline")
        vars(module).update(compile_spec=compiled, write=write)
        monkeypatch.setitem(sys.modules, "tensorgen.pipeline", module)

    return use


@pytest.fixture
def shell(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    use_pipeline: Callable[[Compile], None],
) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, monkeypatch, capfd, use_pipeline)
