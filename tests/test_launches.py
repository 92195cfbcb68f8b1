"""Functions launch no more than the table that is kept says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tensorgen.emit.launches import SWEEPS, launches_of
from tensorgen.operators.helpers.helper_table import HELPERS
from tests import goldens
from tests.device.cases import EXAMPLES, SIZES

ROOT = Path(__file__).resolve().parent.parent
TABLE = (ROOT / "benchmarks" / "results" / "launches.txt").read_text(encoding="utf-8")
ROWS = {
    row[0]: (int(row[1]), int(row[2]), int(row[3]))
    for row in map(str.split, TABLE.split("\n")[1:-1])
}


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.yaml")))
def test_functions_launch_what_the_table_says(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from launches import launches

    found = {f"{name}.{function}": [*own] for function, own in launches(name).items()}
    assert found == {row: own for row, (_, *own) in ROWS.items() if row in found}


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.yaml")))
def test_the_text_alone_says_what_the_table_does(name: str) -> None:
    """What `tensorgen explain` tells; solvers take steps until they are there."""
    text = goldens.text(f"{name}_cupy.py")
    told = launches_of(text, HELPERS)
    assert {row for row in ROWS if row.startswith(f"{name}.")} == {
        f"{name}.{function}" for function in told
    }
    # Which reach over five steps: of eight terms each, or doubling.
    sizes = SIZES | {SWEEPS: 1 if "_swept" in text else 3}
    for function, count in told.items():
        _, *own = ROWS[f"{name}.{function}"]
        if count is None:
            assert function.endswith("_solve")
        else:
            assert not count.most
            assert [x.value(sizes) for x in (count.launches, count.waits)] == own


def test_kernels_save_launches_everywhere() -> None:
    assert all(after <= before for before, after, _ in ROWS.values())
    *rows, whole = ROWS.values()
    assert whole == tuple(map(sum, zip(*rows, strict=True)))


def test_the_page_about_gpus_says_what_the_table_does() -> None:
    page = (ROOT / "docs" / "gpus.md").read_text(encoding="utf-8")
    told = re.search(
        r"(\d+) and (\d+) in all, (\d+) and (\d+) for value and.*"
        r"Their host waits (\d+) times,\D*(\d+) of (\d+) functions do not wait",
        page,
        re.DOTALL,
    )
    assert told is not None
    figures = tuple(map(int, told.groups()))
    row = ROWS["logistic_regression.loss_value_and_grad"][:2]
    *functions, whole = ROWS.values()
    never = sum(waits == 0 for *_, waits in functions)
    assert figures == (*whole[:2], *row, whole[2], never, len(functions))
