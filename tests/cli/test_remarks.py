"""What `gen` tells of derivatives that are no fault: dense, zero, undecided."""

import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from tensorgen import cli
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.plans import planner
from tensorgen.structure.stored import Compressed, StoredTerm
from tests.cli.shell import Run

HEAD = "tensorgen: 1\nmodule: m\ndims: {n: 4000, m: 20000}\n"
INPUTS = "inputs: {A: [m, n], x: [n], y: [n], b: [m]}\nfunctions:\n"
DENSE = HEAD + INPUTS + "  f: {expr: sum(exp(A @ x)), wrt: x, emit: [hessian, hvp]}\n"
ZERO = HEAD + INPUTS + "  f: {expr: A @ x <= b, wrt: x}\n"

Gen = Callable[..., Run]


@pytest.fixture
def gen(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Gen:
    """Return what runs `gen` with all stages on a text, in a folder of its own."""

    def run(text: str, *options: str) -> Run:
        monkeypatch.chdir(tmp_path)
        Path("m.yaml").write_text(text, "utf-8")
        monkeypatch.setattr(
            sys, "argv", ["tensorgen", "gen", "m.yaml", "-b", "numpy", *options]
        )
        with pytest.raises(SystemExit) as left:
            cli.main()
        assert isinstance(left.value.code, int)
        return Run(left.value.code, *capfd.readouterr())

    return run


def test_a_large_dense_derivative_is_told_with_what_would_help(gen: Gen) -> None:
    run = gen(DENSE)
    assert run.code == cli.FINE
    assert run.err.splitlines() == [
        "m.yaml:6:3: warning: f_hess is dense: 4,000 * 4,000 numbers at the hints; "
        "'hvp' multiplies by it and stores none of them [dense]",
        "wrote m_numpy.py",
    ]


@pytest.mark.parametrize(
    "text",
    [
        DENSE.replace("n: 4000", "n: 400"),
        DENSE.replace("dims: {n: 4000, m: 20000}\n", ""),
        DENSE.replace("sum(exp(A @ x))", "sum(exp(x))"),
    ],
    ids=["small", "nobody knows", "diagonal"],
)
def test_nothing_is_told_where_nothing_is_wrong(gen: Gen, text: str) -> None:
    assert "warning" not in gen(text).err


def test_a_derivative_that_is_zero_is_told(gen: Gen) -> None:
    first, *_ = gen(ZERO).err.splitlines()
    assert first == "m.yaml:6:3: warning: f_jac is zero everywhere [zero]"


def test_an_input_that_does_nothing_is_told(gen: Gen) -> None:
    text = HEAD + INPUTS + "  f: {expr: sum(exp(x)), wrt: [x, y], emit: [gradient]}\n"
    first, *_ = gen(text).err.splitlines()
    assert first == "m.yaml:6:3: warning: f_grad by y is zero everywhere [zero]"


def test_a_block_that_is_zero_is_no_surprise(gen: Gen) -> None:
    text = HEAD + INPUTS + "  f: {expr: sum(exp(x)*y), wrt: [x, y], emit: [hessian]}\n"
    assert gen(text).err.splitlines() == ["wrote m_numpy.py"]


def test_warnings_can_be_faults(gen: Gen) -> None:
    both = DENSE + "  g: {expr: A @ x <= b, wrt: x}\n"
    run = gen(both, "-W", "error")
    assert run.code == cli.WRONG
    assert not Path("m_numpy.py").exists()
    lines = run.err.splitlines()
    assert lines[0].startswith("m.yaml:6:3: error: f_hess is dense: ")
    assert lines[3] == "m.yaml:7:3: error: g_jac is zero everywhere [zero]"
    assert "  7 |   g: {expr: A @ x <= b, wrt: x}" in lines[4]


def test_a_note_is_never_a_fault(gen: Gen) -> None:
    text = (
        "tensorgen: 1\nmodule: m\ninputs: {V: [n, r], x: [n]}\nfunctions:\n"
        "  f: {expr: sum(cosh(x)) + norm(V.T @ x)**2, wrt: x, emit: [hessian]}\n"
    )
    run = gen(text, "-W", "error")
    assert run.code == cli.FINE
    assert run.err.startswith("m.yaml:5:3: note: f_hess has two forms")


def test_quiet_says_what_is_wrong_and_nothing_else(gen: Gen) -> None:
    assert gen(DENSE, "--quiet") == Run(cli.FINE, "", "")
    assert "error: f_hess is dense" in gen(DENSE, "-q", "-W", "error").err


FACTORS = """tensorgen: 1
module: m
dims: {n: 4000, k: 5}
inputs: {L: [n, k], d: [n], y: [n]}
functions:
  f:
    where: S = diag(d) + L @ L.T
    expr: y @ solve(S, y) + logdet(S)
    wrt: y
"""


def test_a_promise_that_would_help_is_told(gen: Gen) -> None:
    run = gen(FACTORS)
    assert run.code == cli.FINE
    assert run.err.splitlines()[0] == (
        "m.yaml:6:3: note: f: S is a diagonal plus low rank, but is solved as a dense "
        "matrix, for it is not known that the diagonal is positive; promise it of the "
        "input, {shape: [n], positive: true} [promise]"
    )
    assert gen(FACTORS.replace("d: [n]", "d: {shape: [n], positive: true}")).err == (
        "wrote m_numpy.py\n"
    )


def test_a_promise_of_a_band_that_would_help_is_told(gen: Gen) -> None:
    band = "diag(d) + diag(ones(n - 1), 1) + diag(ones(n - 1), -1)"
    text = FACTORS.replace("diag(d)", band)
    assert gen(text).err.splitlines()[0] == (
        "m.yaml:6:3: note: f: S is a matrix of few entries plus low rank, but is "
        "solved as a dense matrix, for it is not known that the first is positive "
        "definite; promise it, spd(...) [promise]"
    )
    assert gen(text.replace(band, f"spd({band})")).err == "wrote m_numpy.py\n"


def test_that_looking_for_a_structure_stopped_is_told(
    gen: Gen, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "takes too long" not in gen(DENSE).err
    monkeypatch.setattr(planner, "compress", stopped)
    said = gen(DENSE, "--anew").err
    assert "dense, for looking for a structure takes too long" in said


def stopped(graph: Graph, node: Node, *rest: object, **more: object) -> Compressed:
    """What is found after an attempt that gave up: the array as it is."""

    def endless() -> None:
        while True:
            graph.effort.spend(1000)

    graph.effort.attempt(endless, None)
    axes = tuple(range(node.order))
    term = StoredTerm(Fraction(1), ((node, axes),), ())
    return Compressed(node.dims, (term,))


SLIPS = """tensorgen: 1
module: m
inputs: {A: [n, n], B: [n, n], x: [n], y: [n]}
functions:
  f: sum(A*x - y)
  g: trace(A*B)
"""


def test_products_by_entries_that_look_like_products_of_matrices_are_told(
    gen: Gen,
) -> None:
    run = gen(SLIPS, "-W", "error")
    assert run.code == cli.FINE
    assert run.err.splitlines()[:2] == [
        "m.yaml:5:10: note: 'A*x' multiplies each row of A by x, entry by entry; the "
        "product of matrix and vector is A @ x [matrices]",
        "m.yaml:6:12: note: 'A*B' multiplies matrices entry by entry; their product "
        "is A @ B [matrices]",
    ]


def test_products_by_entries_that_are_meant_are_not_told(gen: Gen) -> None:
    plain = SLIPS.replace("A*x", "A*x[None, :]").replace("trace(A*B)", "sum(A*B)")
    assert gen(plain).err == "wrote m_numpy.py\n"
