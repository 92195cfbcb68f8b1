"""The stages behind the command line, replaced by a stand-in."""

import sys
from collections.abc import Callable, Sequence
from types import ModuleType

import pytest

from tensorgen.emit import write
from tensorgen.errors import Source

Compile = Callable[[Source, Sequence[str] | None, str], dict[str, str]]


@pytest.fixture
def use_pipeline(monkeypatch: pytest.MonkeyPatch) -> Callable[[Compile], None]:
    """Return what makes a function take the place of `compile_spec`.

    The whole module is replaced, so that these tests are about the command line
    alone and need none of the stages.
    """

    def use(compile_spec: Compile) -> None:
        module = ModuleType("tensorgen.pipeline")
        vars(module).update(compile_spec=compile_spec, write=write)
        monkeypatch.setitem(sys.modules, "tensorgen.pipeline", module)

    return use
