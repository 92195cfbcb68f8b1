"""Totals are joined by the places of blocks, are shared out anyhow, and can be kept."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tensorgen.engines import joined, load_totals, save_totals
from tensorgen.engines.shares import Share, answer, shares, trees
from tensorgen.engines.trees import whole
from tests.engines.conftest import Given


class Told(NamedTuple):
    """A total that tells how it was joined."""

    text: str

    def joined(self, other: Told) -> Told:
        return Told(f"({self.text} {other.text})")


def told(number: int) -> Told:
    return Told(str(number))


@pytest.mark.parametrize("count", range(1, 34))
def test_shares_are_joined_as_emitted_code_joins_blocks(
    given: Given, count: int
) -> None:
    blocks = list(range(count))
    wanted = given.module._joined_totals(map(told, blocks))
    assert joined(map(told, blocks)) == wanted
    rng = random.Random(count)
    for _ in range(9):
        ends = sorted(rng.choices(range(count + 1), k=rng.randrange(5)))
        cuts = zip([0, *ends], [*ends, count], strict=True)
        cut = [Share(start, blocks[start:stop]) for start, stop in cuts]
        for tasks in (
            cut,
            shares(blocks, rng.randrange(1, 9), 2),
            shares(blocks, None, 2),
        ):
            answers = [answer(told, None, task) for task in tasks]
            assert whole(trees(answers)) == [wanted]


def test_few_totals_leave_a_share() -> None:
    found = answer(told, None, Share(1001, range(2000)))
    assert isinstance(found, list)
    assert len(found) < 20
    for task in shares(range(1000), 50, 2)[:-1]:
        assert len(answer(told, None, task)) == 1


def test_results_of_rows_stay_as_they_are() -> None:
    tasks = shares(range(7), 3, 2)
    answers = [answer(lambda k: [k], None, task) for task in tasks]
    assert whole(trees(answers)) == [[k] for k in range(7)]
    assert whole(trees([])) == []
    with pytest.raises(ValueError, match="expected one at least, got none"):
        joined([])


def test_totals_that_were_kept_are_joined_later(given: Given, tmp_path: Path) -> None:
    module: Any = given.module
    w = np.linspace(-1, 1, 7)
    kind = module.LossValueAndGradTotals
    totals = [module.loss_value_and_grad_partial1(w, **own()) for own in given.blocks]
    path = tmp_path / "totals"
    save_totals(path, joined(totals[:8]))
    kept = load_totals(path, kind)
    assert isinstance(kept, kind)
    later = joined([kept, joined(totals[8:])])
    for ours, theirs in zip(later, joined(totals), strict=True):
        assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()
        assert np.shape(ours) == np.shape(theirs)
    assert [path.name for path in tmp_path.iterdir()] == ["totals"]
    with pytest.raises(ValueError, match="expected hess_sum of LossHessTotals, got"):
        load_totals(path, module.LossHessTotals)


def test_a_file_of_totals_is_whole_or_as_before(
    given: Given, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "totals"
    save_totals(path, given.module.LossTotals(np.float64(3)))

    def full(*arguments: Any, **given: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space left"):
        save_totals(path, given.module.LossTotals(np.float64(4)))
    assert load_totals(path, given.module.LossTotals).loss_sum == 3
    assert [path.name for path in tmp_path.iterdir()] == ["totals"]
