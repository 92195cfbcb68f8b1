"""What a function of one sample may not be, and where that is said."""

import pytest

from tensorgen.errors import Source, SpecError
from tensorgen.lang import Program, program_of
from tensorgen.spec.read import read_spec

HEAD = """tensorgen: 1
dims: {B: 9}
inputs:
  x: {shape: [n], batch: [B]}
  t: {shape: [k], batch: [B]}
  w: [n]
external:
  whole:
    call: {numpy: numpy.cumsum, cupy: cupy.cumsum}
    args: {u: [n]}
    shape: [n]
    vjp: ct
"""


def program(text: str) -> Program:
    return program_of(read_spec(Source("a.yaml", text), allow_external=True))[1]


def fault(text: str) -> tuple[str, str, str]:
    """Return message, marked text and hint of the one fault of a spec."""
    with pytest.raises(SpecError) as caught:
        program(text)
    (found,) = caught.value.diagnostics
    assert found.span is not None
    marked = found.span.source.text[found.span.start : found.span.end]
    return found.message, marked, found.hint or ""


@pytest.mark.parametrize(
    ("written", "message", "marked"),
    [
        ("f: sum(x) / B", "'f' is of one sample, and B is how many there are", "B"),
        ("f[i=range(B)]: x[0] * i", "B is how many there are", "B"),
        ("f: sum(whole(x))", "'whole' takes one sample alone", "whole"),
        ("f: interp(w[0], t, t)", "in no order together", "f"),
        (
            "f: {expr: sum(x**2), wrt: x, emit: [value, problem]}",
            *("a problem is of one sample", "problem"),
        ),
        (
            "f: {expr: sum(x**2 * w), wrt: [x, w], emit: [3]}",
            *("are named one by one", "3"),
        ),
    ],
)
def test_what_has_no_batch_is_refused(written: str, message: str, marked: str) -> None:
    found, place, hint = fault(f"{HEAD}functions:\n  {written}\n")
    assert message in found
    assert place == marked
    assert hint


def test_a_function_that_reads_no_batch_may_be_what_has_none() -> None:
    written = "{expr: sum(whole(w)**2), wrt: w, emit: [value, problem]}"
    text = f"{HEAD}functions:\n  f: {written}\n  g: sum(x)\n"
    of_one, of_all = program(text).functions
    assert of_one.batch is None
    assert str(of_all.batch) == "B"


def test_a_batch_is_that_of_all_that_a_function_reads() -> None:
    text = (
        f"{HEAD}definitions: |\n  y = x * w\nfunctions:\n  f: sum(y)\n  g: f * sum(w)\n"
    )
    assert all(str(f.batch) == "B" for f in program(text).functions)


def test_unknowns_are_of_one_sample() -> None:
    unknown = "unknowns:\n  z: {shape: [n], equation: z**3 + z - x}\n"
    text = f"{HEAD}{unknown}functions:\n  f: sum(w)\n"
    message, place, _ = fault(text)
    assert (
        message == "the unknown 'z' is of one sample, and reads 'x', which has a batch"
    )
    assert place == "z"


def test_a_function_of_a_batch_reads_no_unknown() -> None:
    unknown = "unknowns:\n  z: {shape: [n], equation: z**3 + z - w}\n"
    message, place, _ = fault(f"{HEAD}{unknown}functions:\n  f: z @ x\n")
    assert message == "'f' has a batch, and unknowns are found for one sample"
    assert place == "f"


def test_a_problem_of_a_file_is_of_one_sample() -> None:
    problem = "problem: {minimize: f, variables: w}\n"
    message, place, hint = fault(f"{HEAD}functions:\n  f: sum(x * w)\n{problem}")
    assert message == "a problem is of one sample, and reads 'x', which has a batch"
    assert place == "f"
    written = "{expr: sum(x * w), wrt: w, emit: [problem]}"
    assert fault(f"{HEAD}functions:\n  f: {written}\n")[2] == hint
    each, of_all = hint.split("; ")
    assert each == "without 'batch', solve one for each sample"
    assert of_all.endswith("minimises a sum over samples, and takes x: [B, n]")
