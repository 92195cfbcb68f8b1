"""The suite of benchmarks: what is wrong, fails or is absent is told, not timed."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import ablation
import measure
import numpy as np
import nursery
import peers
import pytest
import report
import sets
import suite
import tables
from cases import Case, Contender, difference
from sets import fields
from tables import Row

OURS, HAND = "tensorgen", "by hand"


def contender(name: str, result: Any, *libraries: str) -> Contender:
    """One that gives a result at once, or raises it."""

    def task() -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    return Contender(name, lambda data: task, libraries)


def case(*contenders: Contender, size: int = 10) -> Case:
    return Case("a sum", "n", size, lambda rng: {}, contenders)


def measured(*contenders: Contender) -> dict[str, Row]:
    return {row.contender: row for row in measure.measure(case(*contenders), [], True)}


def test_a_wrong_result_is_told_and_not_timed() -> None:
    right, wrong = np.ones(3), np.array([1, 1, 1 + 1e-6])
    rows = measured(contender(OURS, wrong), contender(HAND, right))
    assert rows[OURS].note == "wrong: off by 1.0e-06, entries are up to 1.0e+00"
    assert rows[OURS].seconds is None and rows[OURS].peak is None
    assert rows[HAND].seconds is not None and rows[HAND].note == ""


@pytest.mark.parametrize(
    "found",
    [[np.ones(2)], [np.ones((3, 1))], [np.ones(3), np.ones(3)], [np.full(3, np.nan)]],
)
def test_what_has_another_shape_or_is_no_number_is_wrong(found: list[Any]) -> None:
    assert difference(found, [np.ones(3)], 1e-8).startswith("wrong: ")
    assert difference([np.ones(3)], [np.ones(3)], 1e-8) == ""


def test_without_code_by_hand_a_peer_judges_ours() -> None:
    rows = measured(contender(OURS, 1.0), contender("JAX", 2.0))
    assert rows[OURS].note.startswith("wrong") and not rows["JAX"].note


def test_modes_are_held_against_each_other() -> None:
    rows = measured(contender(OURS, 1.0), contender("tensorgen, reverse", 2.0))
    assert rows[OURS].note.startswith("wrong")


def test_a_failure_is_a_row_and_the_others_are_measured() -> None:
    rows = measured(
        contender(OURS, 1.0),
        contender(HAND, 1.0),
        contender("JAX", MemoryError("no room for 8 bytes")),
        contender("autograd", ValueError("no rule\nfor this")),
    )
    assert rows["JAX"].note == "too large: no room for 8 bytes"
    assert rows["autograd"].note == "failed: ValueError: no rule"
    assert rows["JAX"].seconds is None
    assert rows[OURS].seconds and rows[HAND].seconds


def test_an_absent_peer_is_told_and_has_no_row() -> None:
    absent = contender("torch", 1.0, "no_such_library.of_ours")
    rows = measured(contender(OURS, 1.0), absent)
    assert list(rows) == [OURS]
    assert absent.missing() == "no_such_library.of_ours"
    said = report.machine("numpy", "no-such-library")
    assert said[-1] == "absent   no-such-library: not installed, no rows"
    assert "absent" not in "".join(report.machine("numpy"))


CHILD = """
import json, os, signal

def preload():
    pass

def main(words):
    print(json.dumps({"at": "tensorgen", "limit": 30}), flush=True)
    if "--without=JAX" not in words:
        print(json.dumps({"at": "JAX", "limit": 7}), flush=True)
        ENDS
    row = {"problem": "a sum", "dim": "n", "size": 10, "contender": "tensorgen"}
    print(json.dumps({"rows": [row | {"seconds": 0.5}]}))
"""


@pytest.fixture
def forked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], suite.Start]]:
    """What starts processes that end so, where JAX is among the contenders."""
    started = suite.Nurseries("child")
    monkeypatch.setattr(suite, "PATHS", (str(tmp_path), *suite.PATHS))

    def start(ends: str) -> suite.Start:
        (tmp_path / "child.py").write_text(CHILD.replace("ENDS", ends))
        return started

    yield start
    started.close()


def unable(*order: Any) -> nursery.Ended:
    raise AssertionError(f"nothing is to be started: {order}")


@pytest.mark.parametrize(
    ("ended", "note"),
    [
        ("SIGALRM", "too large: not done after 7 s"),
        ("SIGKILL", "too large: killed for its memory"),
        ("SIGABRT", "killed: ended by SIGABRT"),
        ("", "failed: ValueError: no root"),
    ],
)
def test_who_ends_the_process_has_a_row_and_the_others_run_without_it(
    ended: str, note: str, forked: Callable[[str], suite.Start]
) -> None:
    kill = f"os.kill(os.getpid(), signal.{ended})"
    start = forked(kill if ended else "raise ValueError('no root')")
    run = suite.Suite(False, 60, start)
    two = case(contender("JAX", 0), contender(OURS, 0))
    rows = run.rows("A", two, 1)
    assert [(r.contender, r.seconds, r.note) for r in rows] == [
        ("JAX", None, note),
        (OURS, 0.5, ""),
    ]
    # At a larger size it is not tried again.
    reason = run.hopeless(replace(two, size=20), "JAX", 1)
    assert reason == f"too large: {note.removeprefix('too large: ')}, at n = 10"
    assert run.hopeless(replace(two, size=20), OURS, 1) == ""
    # Half a second grows beyond what a call may take.
    far = run.hopeless(replace(two, size=100), OURS, 1)
    assert far == "too large: took 0.5 s at n = 10"


@pytest.mark.parametrize(("name", "tried"), [("torch.compile", False), (OURS, True)])
def test_a_peer_that_takes_long_to_start_is_not_tried_at_larger_sizes(
    name: str, tried: bool
) -> None:
    run = suite.Suite(False, 60, unable)
    first = Row("a sum", "n", 10, 1, name, 0.001, 0.001, 8, first=2.6)
    run.history["a sum", name, 1] = first
    two = replace(case(contender(name, 0)), size=20)
    reason = run.hopeless(two, name, 1)
    assert reason == ("" if tried else "not tried: it took 3 s to start at n = 10")
    run.history["a sum", name, 1] = suite.blank(two, name, 1, reason)
    assert run.hopeless(replace(two, size=40), name, 1) == reason


def test_nobody_is_blamed_where_the_run_ends(
    forked: Callable[[str], suite.Start],
) -> None:
    run = suite.Suite(False, 0.3, forked("import time; time.sleep(60)"))
    (row,) = run.rows("A", case(contender(OURS, 0), contender("JAX", 0)), 1)
    assert (row.contender, row.note) == (OURS, "out of time")


def test_a_run_without_time_left_says_so() -> None:
    run = suite.Suite(False, 0, unable)
    (row,) = run.rows("A", case(contender(OURS, 0)), 1)
    assert row.note == "out of time"


@pytest.mark.parametrize(
    ("note", "status"),
    [
        ("wrong: off by 1", 1),
        ("failed: ValueError", 1),
        ("too large: at n = 4", 0),
        ("", 0),
    ],
)
def test_only_faults_of_ours_make_the_run_fail(note: str, status: int) -> None:
    ours = Row("a sum", "n", 10, contender=OURS, note=note)
    peer = Row("a sum", "n", 10, contender="JAX", note="wrong: off by 1")
    assert suite.verdict([ours, peer]) == status


def test_a_table_is_read_back_as_it_was_written() -> None:
    rows = [
        Row("a sum", "n", 10, 2, OURS, 0.0123, 0.0121, 2_000_000, 0.5, "two words"),
        Row("a sum", "n", 4000, 1, "JAX", note="too large: 12.3 s at n = 10"),
        Row("one size", "", 1, 1, HAND, 1e-6, 1e-6, None, 1.25),
    ]
    text = "\n".join(["title", "", tables.head(), *(row.line() for row in rows)])
    assert tables.read(text) == rows


@pytest.mark.parametrize("chosen", sets.EVERY, ids=lambda s: s.name)
def test_cases_fit_the_table_and_grow(chosen: Any) -> None:
    cases = list(chosen.cases())
    assert len({c.name for c in cases}) == len(cases) > 0
    sizes: dict[str, list[int]] = {}
    for found in cases:
        sizes.setdefault(found.problem, []).append(found.size)
        for one in found.contenders:
            row = Row(found.problem, found.dim, found.size, 1, one.name, note="x")
            assert tables.read(f"{tables.head()}\n{row.line()}") == [row]
        names = [c.name for c in found.contenders]
        assert names[0] == OURS and len(set(names)) == len(names)
    assert all(found == sorted(found) for found in sizes.values())


def test_small_sizes_of_all_problems_come_first() -> None:
    def named(problem: str, size: int) -> Case:
        return replace(case(size=size), problem=problem)

    given = [named("a", 1), named("a", 2), named("a", 3), named("b", 1)]
    order = [(c.problem, c.size) for c in suite.by_turns(given)]
    assert order == [("a", 1), ("b", 1), ("a", 2), ("a", 3)]


def test_a_case_is_measured_from_its_spec_on() -> None:
    (chosen,) = (s for s in sets.SETS if s.letter == "A")
    first = suite.smallest(chosen)[0]
    peers = [c.name for c in first.contenders if c.name not in (OURS, HAND)]
    ours, hand = measure.measure(first, peers, True)
    assert (ours.contender, ours.note, hand.note) == (OURS, "", "")
    assert ours.first and hand.seconds and ours.seconds and ours.peak


@pytest.mark.parametrize("small", suite.smallest(fields.SET), ids=lambda c: c.problem)
def test_models_of_fields_agree_with_code_by_hand(small: Case) -> None:
    ours, hand = small.contenders
    data = small.data(np.random.default_rng(0))
    found, expected = (c.result(c.make(data)()) for c in (ours, hand))
    assert difference(found, expected, small.agreement) == ""


def test_code_by_hand_is_given_what_it_takes_or_all_of_it() -> None:
    data = {"x": 1, "y": 2}
    for function, want in (
        (lambda x: [x], [1]),
        (lambda x, **others: [x, *others.values()], [1, 2]),
    ):
        assert peers.hand(function).make(data)() == want


def test_what_functions_share_is_part_of_what_each_of_them_runs() -> None:
    text = (
        'def f(x):\n    """Value."""\n    return _parts(x).y\n'
        "def f_grad(x):\n    return 2 * _parts(x).x\n"
        "def _parts(x):\n    return Parts(x, x**2)\n"
        "class FProblem:\n    def f(self):\n        return _parts(self.x).y\n"
    )
    assert ablation.statements(text) == {
        "f": "return _parts(x).y\nreturn Parts(x, x ** 2)",
        "f_grad": "return 2 * _parts(x).x\nreturn Parts(x, x ** 2)",
        "FProblem": "return _parts(self.x).y\nreturn Parts(x, x ** 2)",
    }


def test_a_problem_has_the_price_of_all_its_methods() -> None:
    text = (
        "tensorgen: 1\nmodule: one\ndims: {m: 1000, n: 10}\n"
        "inputs: {A: [m, n], B: [m, n], w: [n]}\nfunctions:\n"
        "  f: {expr: sum(sin(B.T @ (A @ w))), wrt: w, emit: [problem]}\n"
    )
    (effect,) = ablation.ablated("one", text, ["gather_steady"], 0).values()
    assert effect.changed == 1  # B.T @ A is computed once, with it
    assert effect.prices[0] > 3


def test_what_fires_nowhere_has_a_spec_of_its_own() -> None:
    for law in ablation.laws():
        assert ablation.witness(law).lstrip().startswith(("tensorgen: 1", "#"))
    effect = ablation.ablated("own", ablation.witness("widen_late"), ["widen_late"], 0)
    assert max(effect["widen_late"].prices) > 10


def test_a_law_that_is_left_out_is_missed_where_it_fires() -> None:
    text = (
        "tensorgen: 1\nmodule: one\ninputs: {X: [m, n], w: [n], y: [m]}\n"
        "functions:\n  f: {expr: sum(log(1 + exp(-y * (X @ w)))), wrt: w, "
        "emit: [hessian]}\n"
    )
    laws = ["pair_slopes", "widen_late"]
    found = ablation.ablated("one", text, laws, 0)
    assert [*found] == laws[:1]  # the other changes nothing
    effect = found[laws[0]]
    assert effect.changed and not effect.fails
    assert max(effect.prices) > 1
    assert laws[0] in ablation.row(laws[0], [effect])
    assert "widen_late *" in ablation.row("widen_late", [effect], is_alone=True)
    with ablation.without(laws[0]):
        assert laws[0] not in ablation.laws()
    assert laws[0] in ablation.laws()
