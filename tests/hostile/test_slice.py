"""A slice of what `make fuzz-specs` runs, and its machinery."""

from pathlib import Path

import pytest

from tests.fuzz_specs import Tally, record
from tests.hostile.judge import MARKER, Broken, Verdict, check_module, judge
from tests.hostile.seeds import Outcome, outcomes
from tests.hostile.smaller import smaller
from tests.hostile.workers import run


@pytest.mark.parametrize("start", range(0, 48, 6))
def test_hostile_specs_end_in_a_module_or_a_diagnostic(start: int) -> None:
    for seed in range(start, start + 6):
        for outcome in outcomes(seed, judge):
            text = outcome.data.decode("utf-8", "replace")
            assert not outcome.verdict.fails, f"{text}\n{outcome.verdict.detail}"


def test_a_seed_always_gives_the_same_specs() -> None:
    def judged(data: bytes, laid_out: bool) -> Verdict:
        return Verdict("diagnostic", "", 0.0)

    first, again = ([*outcomes(seed, judged)] for seed in (4, 4))
    assert [o.data for o in first] == [o.data for o in again]


def test_workers_judge_each_seed_within_their_bounds() -> None:
    found = list(run(range(6), 1))
    assert {outcome.seed for outcome in found} == {*range(6)}
    assert not [outcome for outcome in found if outcome.verdict.fails]


def test_a_failing_spec_is_made_smaller() -> None:
    data = b"a: 1\nb: [x, y]\nc: 2\n"
    assert smaller(data, lambda d: b"y" in d and b"b" in d) == b"by"


@pytest.mark.parametrize(
    "text", [f"{MARKER} = 1", f"def f({MARKER}): pass", "import os", "from os import x"]
)
def test_text_that_becomes_code_is_seen(text: str) -> None:
    with pytest.raises(Broken):
        check_module(text)
    check_module(f'"""{MARKER}"""\nimport math')


def test_runs_add_up_in_the_file_of_results(tmp_path: Path) -> None:
    path = tmp_path / "results.txt"
    tally = Tally()
    tally.add(Outcome(1, "walk", b"", Verdict("module", "", 0.1)))
    for seeds in ("0:10", "10:20"):
        row = (seeds, "abc", 1, 1, 0, 0, 0, "0.01", "1.0")
        record(path, row, tally.ways)
    text = path.read_text()
    assert "specs in all: 2, failing: 0" in text
    assert "  walk                     2" in text
