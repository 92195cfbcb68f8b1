"""Points at which functions are checked: sizes that fit, and tell axes apart."""

from __future__ import annotations

from tensorgen.check.sample_points import some_sizes
from tensorgen.errors import Remark, Source
from tensorgen.ir.dims import Dim
from tensorgen.pipeline import compile_spec

n, m = Dim.of("n"), Dim.of("m")


def test_an_entry_far_out_has_as_long_an_axis() -> None:
    for seed in range(6):
        sizes = some_sizes(["m", "n"], [n - 129, m], [], seed)
        assert sizes is not None and sizes["n"] >= 129 and sizes["m"] < 20


def test_a_function_that_reads_one_is_checked() -> None:
    text = (
        "tensorgen: 1\nmodule: far\ninputs: {x: [n], y: [m]}\nfunctions:\n  f:\n"
        "    expr: x[128]**2 * sum(y)\n    wrt: x\n    emit: [value, gradient]\n"
    )
    heard: list[Remark] = []
    source = Source("far.yaml", text)
    compile_spec(source, ["numpy"], "cross-country", note=heard.append)
    assert not [x for x in heard if x.code == "unchecked"]
