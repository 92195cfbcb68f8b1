"""Work is counted: it grows no faster than it must, and ends where it is too much."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import tensorgen.pipeline
from tensorgen import load
from tensorgen.cli import cli
from tensorgen.errors import Remark, Source, SpecError, Text
from tensorgen.ir.effort import READING, Effort
from tensorgen.loading import loaded
from tests.sampled import sampled
from tests.scaling import FAMILIES, many, names, spec

SLACK = 1.35
"""What a count may have beyond its power of the number, for smaller parts of it."""


def counted(text: str) -> int:
    """The steps that a spec takes to compile."""
    found: list[Effort] = []

    class Counted(Effort):
        def __init__(self, watch: object = None) -> None:
            super().__init__()
            found.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tensorgen.lang.program.Effort", Counted)
        source = Source("<text>", text)
        tensorgen.pipeline.compile_spec(source, ["numpy"], "cross-country", False)
    return found[0].spent


@cache
def steps(family: str, number: int) -> int:
    """The steps that a member of a family takes to compile."""
    return counted(FAMILIES[family][2](number))


@pytest.mark.parametrize("family", sampled(FAMILIES, 2))
def test_twice_as_many_take_no_more_than_their_power(family: str) -> None:
    number, degree, _ = FAMILIES[family]
    assert steps(family, 2 * number) <= SLACK * 2**degree * steps(family, number)


# A sum of exponentials, each of which is used twice in the next one.
DOUBLING = ["h0 = exp(x)", *(f"h{i + 1} = h{i} + y*h{i}" for i in range(18))]


@pytest.mark.parametrize(
    ("text", "most"),
    [
        # Each of these once took minutes, or had no end.
        (spec(many(11, "[n, n]"), " @ ".join(names(11)), "a0", "[jacobian]"), 6_000),
        (spec("A: [n, n]", " @ ".join("A" * 10), "A", "[jacobian]"), 25_000),
        (spec(many(500, "[]"), "*".join(names(500)), "a0"), 30_000),
        (spec("x: [n], y: [n]", "sum(log(h18))", "x", where=DOUBLING), 20_000),
        (spec("x: []", "(10*x)**10**10", "x"), 500),
        (spec("x: []", "(x/3)**(10**200)", "x"), 500),
        (spec(f"X: [{', '.join(names(30))}]", "sum(ravel(X)[1:])", "X"), 2_000),
    ],
    ids=["chain", "power", "product", "doubling", "scaled power", "quotient", "axes"],
)
def test_what_once_exploded_takes_few_steps(text: str, most: int) -> None:
    assert counted(text) <= most


DOUBLED = spec(
    "x: [n]",
    "sum(d16(x))",
    definitions=["d0(t) = tanh(t)"]
    + [f"d{i + 1}(t) = d{i}(d{i}(t))" for i in range(16)],
)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reading a function take a tenth of the steps."""
    monkeypatch.setattr("tensorgen.lang.program.READING", READING // 10)


@pytest.mark.usefixtures("impatient")
def test_definitions_that_double_are_refused_where_they_are_used() -> None:
    with pytest.raises(SpecError) as error:
        tensorgen.generate(DOUBLED)
    shown = str(error.value).splitlines()
    line = DOUBLED.splitlines().index("  f:") + 1
    assert shown == [
        f"<text>:{line}:3: error: 'f' is too large: "
        "reading it takes more than 8,000 steps",
        f"{line:>5} |   f:",
        "      |   ^",
        "   hint: definitions that use others several times grow with every level; "
        "what is alike many times is written once, over an index",
    ]


@pytest.mark.usefixtures("impatient")
def test_other_faults_are_reported_beside_what_is_too_large() -> None:
    with pytest.raises(SpecError) as error:
        tensorgen.generate(DOUBLED + "  g: 2*f\n  h: x + unknown\n")
    messages = [d.message for d in error.value.diagnostics]
    assert len(messages) == 2 and "unknown" in messages[1]


@pytest.mark.usefixtures("impatient")
def test_the_command_line_takes_what_is_too_large_for_a_wrong_spec(
    tmp_path: Path,
) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(DOUBLED)
    result = CliRunner().invoke(cli, ["gen", str(path)])
    assert result.exit_code == 2
    assert "'f' is too large" in result.output
    assert list(tmp_path.iterdir()) == [path]


def test_a_function_that_cannot_be_planned_is_named_and_where_most_of_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tensorgen.ir.effort, "PLANNING", 10)
    monkeypatch.setattr(tensorgen.ir.effort, "HURRIED", 20)
    with pytest.raises(
        SpecError, match="'f' is too large: planning f takes more"
    ) as error:
        tensorgen.generate(FEW_STEPS)
    assert "most of it is 's'" in str(error.value)


@pytest.mark.parametrize(
    ("module", "emit", "doing"),
    [
        ("plans.build_module", "[value]", "writing f takes"),
        ("plans.build_module", "[problem]", "writing its problem takes"),
        ("ir.effort", "[problem]", "planning its problem takes"),
    ],
)
def test_whatever_takes_too_long_it_is_said_where_most_of_it_is(
    monkeypatch: pytest.MonkeyPatch, module: str, emit: str, doing: str
) -> None:
    text = FEW_STEPS.replace("[value, gradient, hessian]", emit)
    monkeypatch.setattr(f"tensorgen.{module}.HURRIED", 1)
    monkeypatch.setattr("tensorgen.ir.effort.PLANNING", 10 if "ir" in module else 10**9)
    with pytest.raises(SpecError, match=f"'f' is too large: {doing}") as error:
        tensorgen.generate(text)
    assert "most of it is 's'" in str(error.value)


FEW_STEPS = """tensorgen: 1
inputs: {u: [T], A: [3, 3], w: [3]}
functions:
  f:
    where: |
      z = A @ w
      s[0] = w
      s[t + 1] = tanh(A @ s[t] + cos(u[t])*sin(s[t])) + 0.1*exp(-s[t])*z
    expr: sum(s**2) + sum(z)
    wrt: w
    emit: [value, gradient, hessian]
"""


def test_what_takes_long_to_plan_is_planned_in_a_hurry_and_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source, plain = Source("<text>", FEW_STEPS), load(FEW_STEPS)
    monkeypatch.setattr(tensorgen.ir.effort, "PLANNING", 1000)
    told: list[Remark] = []
    hurried = loaded(source, "numpy", "cross-country", note=told.append)
    assert {remark.code for remark in told} >= {"hurried"}
    assert any(
        "planning f_hess takes more than 1,000 steps" in remark.message
        and "most of it is 's'" in remark.message
        for remark in told
    )
    chance = np.random.default_rng(3)
    given = chance.normal(size=5), chance.normal(size=(3, 3)), chance.normal(size=3)
    for name in ("f", "f_grad", "f_hess"):
        want, got = (
            getattr(x, name)(u=given[0], A=given[1], w=given[2])
            for x in (plain, hurried)
        )
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-9)


# The counter itself


def test_what_finds_no_end_gives_its_input_back() -> None:
    effort = Effort()

    def endless() -> str:
        while True:
            effort.spend()

    assert effort.attempt(endless, "input", 100) == "input"
    assert effort.spent == 100
    assert effort.attempt(lambda: "better", "input", 100) == "better"


def test_the_end_of_all_work_is_not_that_of_a_pass() -> None:
    effort = Effort()
    name = Text.plain("f")
    expected = "'f' is too large: thinking takes more than 5 steps"
    with pytest.raises(SpecError, match=expected), effort.on(name, "thinking", 5):
        effort.spend(6)
    effort.spend(1000)  # what comes after it has steps of its own


def test_one_large_step_of_an_improvement_refuses_nothing() -> None:
    effort = Effort()

    def too_far() -> str:
        effort.spend(2000)
        return "better"

    with effort.on(Text.plain("f"), "thinking", 1000):
        for _ in range(20):  # until nothing is left
            assert effort.attempt(too_far, "input") == "input"


def test_attempts_leave_steps_for_what_must_be_done() -> None:
    effort = Effort()

    def endless() -> str:
        while True:
            effort.spend()

    with effort.on(Text.plain("f"), "thinking", 1000):
        for _ in range(5):  # each would take all of it
            assert effort.attempt(endless, "input", 1000) == "input"
        effort.spend(20)


# Without the passes


class Hasty(Effort):
    """One that never has the time to improve anything."""

    def attempt(self, run, instead, steps=0):  # type: ignore[no-untyped-def]
        """Return what was there before."""
        return instead


@pytest.mark.parametrize("family", ["layers", "a stack", "labels of an einsum"])
def test_what_no_pass_improves_computes_the_same(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = FAMILIES[family][2](4)
    better = load(text)
    monkeypatch.setattr("tensorgen.lang.program.Effort", Hasty)
    plain = load(text)
    rng = np.random.default_rng(0)
    shapes: dict[str, list[tuple[int, ...]]]
    shapes = {"layers": [(3, 3)] * 4 + [(3,)], "a stack": [(3,)]}
    inputs = [rng.normal(size=s) for s in shapes.get(family, [(3, 3)] * 4)]
    # The gradients of the network are as many as its layers, of one shape.
    found, expected = (np.asarray(m.f_grad(*inputs)) for m in (plain, better))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_who_waits_hears_which_function_is_at_work() -> None:
    heard: dict[str, None] = {}
    source = Source("<text>", FAMILIES["layers"][2](2))
    tensorgen.pipeline.compile_spec(
        source, ["numpy"], "cross-country", True, lambda text: heard.setdefault(text)
    )
    assert "f: planning f_grad" in heard
    assert "f: writing f_grad" in heard
    assert "laying out m_numpy.py" in heard
