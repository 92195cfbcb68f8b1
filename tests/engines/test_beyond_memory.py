"""The examples of rows beyond memory find the same minimum, each in its way."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.engines.test_maps import ROOT, on_ranks

EXAMPLES = ROOT / "examples" / "beyond_memory"
SCRIPTS = (
    "rows_in_files",
    "out_of_core",
    "on_workers",
    "by_random_blocks",
    "factors_of_users",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the module and the rows are, for all of them."""
    return tmp_path_factory.mktemp("beyond_memory")


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """The scripts, imported as if from their folder."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    for name in (*SCRIPTS, "logistic_rows", "ratings_rows"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return {name: importlib.import_module(name) for name in SCRIPTS}


def test_all_ways_lead_to_the_minimum_of_all_rows(
    scripts: dict[str, Any], folder: Path
) -> None:
    place = ["--folder", str(folder)]
    w = scripts["out_of_core"].main(place)
    model = scripts["rows_in_files"].module(folder)
    data = {name: np.load(folder / f"{name}_20000_20.npy") for name in ("X", "y")}
    assert np.linalg.norm(model.LossProblem(**data).gradient(w)) < 1e-9
    ours, theirs = scripts["on_workers"].main(place)
    assert ours == theirs
    assert on_ranks(EXAMPLES / "on_ranks.py", 2, *place)[-1] == ours
    v, norm = scripts["by_random_blocks"].main(place)
    assert norm < 1e-6
    np.testing.assert_allclose(v, w, atol=1e-5)


def test_factors_that_lie_with_their_ratings_are_fitted_as_with_all_of_them(
    scripts: dict[str, Any], folder: Path
) -> None:
    few = ["--users", "220", "--items", "20", "--rank", "2"]
    over, v = scripts["factors_of_users"].main(["--folder", str(folder), *few])
    model = scripts["rows_in_files"].module(folder, "ratings_rows")
    whole = model.LossProblem(**scripts["factors_of_users"].ratings(220, 20, 2))
    assert np.array_equal(whole.pack(*over.unpack(v)), v)
    np.testing.assert_allclose(over.fun(v), whole.value(v), rtol=1e-12)
    np.testing.assert_allclose(over.grad(v), whole.gradient(v), atol=1e-9)
    assert np.linalg.norm(whole.gradient(v)) < 1e-9
    assert whole.value(v) < 0.2 * len(whole._data.user)
