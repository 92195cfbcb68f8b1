"""Templates that backends have in common are compiled once."""

from __future__ import annotations

import jinja2
import pytest

from tensorgen.emit import framing


def test_common_templates_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    framing.environment.cache_clear()
    framing._compiled.cache_clear()
    names: list[str] = []
    plain = jinja2.Environment.compile

    def noted(
        self: jinja2.Environment, source: str, name: str, *rest: object
    ) -> object:
        names.append(name)
        return plain(self, source, name, *rest)  # type: ignore[call-overload]

    monkeypatch.setattr(jinja2.Environment, "compile", noted)
    for folder in ("numpy", "cupy"):
        framing.environment(folder).get_template("module.py.j2")
    assert names == ["module.py.j2"]
