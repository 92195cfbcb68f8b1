"""Names and the order of axes."""

from tensorgen.arrays.arrays import variable
from tensorgen.arrays.printer import Printer
from tensorgen.ir.dims import Dim
from tensorgen.lower.axes import transposed
from tensorgen.lower.operands import Operand
from tensorgen.lower.value_names import Names


def test_names_avoid_what_is_taken_keywords_and_builtins() -> None:
    names = Names(["z"])
    assert names.pick(["z"]) == "z_2"
    assert names.pick(["z"]) == "z_3"
    assert names.pick(["lambda", "max", "w"]) == "w"
    assert names.pick(["max"]) == "max_2"
    assert names.pick(["2_v"]) == "value"


def test_a_symmetric_stack_is_transposed_but_for_its_matrices() -> None:
    m, n, k = map(Dim.of, "mnk")
    stack = Operand(variable("T", (m, n, k, k)), (0, 1, 2, 3), symmetric=True)

    def text(*labels: int) -> str:
        return Printer("np").text(transposed(stack, labels).array)

    assert text(0, 1, 3, 2) == "T"
    assert text(1, 0, 3, 2) == "T.transpose(1, 0, 3, 2)"
    assert text(1, 0, 2, 3) == "T.transpose(1, 0, 2, 3)"
