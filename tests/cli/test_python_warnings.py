"""What `tensorgen.generate` and `tensorgen.load` warn of."""

import warnings
from collections.abc import Callable

import pytest

import tensorgen

LOST = """\
tensorgen: 1
module: lost
inputs: {x: [n]}
functions:
  f: {wrt: x, expr: sum(floor(x)), emit: [gradient]}
"""
NOTED = """\
tensorgen: 1
module: noted
inputs: {A: [n, n]}
functions:
  f: {expr: trace(A * A), emit: [value]}
"""


@pytest.mark.parametrize("call", [tensorgen.generate, tensorgen.load])
def test_warnings_name_the_place_in_the_spec_and_the_line_that_calls(
    call: Callable[[str], object],
) -> None:
    with pytest.warns(tensorgen.SpecWarning, match=r"<text>:5:\d+: .*\[zero\]") as told:
        call(LOST)
    assert [x.filename for x in told] == [__file__]


def test_warnings_can_be_faults() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", tensorgen.SpecWarning)
        with pytest.raises(tensorgen.SpecWarning):
            tensorgen.load(LOST)


def test_notes_are_no_warnings() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tensorgen.generate(NOTED)
