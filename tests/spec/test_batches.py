"""What `batch` says of an input, and what it cannot say."""

import pytest

from tensorgen.errors import Source
from tensorgen.ir.dims import Dim
from tensorgen.spec.read import read_spec
from tests.spec.test_faults import only

SPEC = "tensorgen: 1\ninputs:\n  x: {}\n  w: {}\nfunctions: {{f: sum(x)}}\n"


@pytest.mark.parametrize("batch", ["[B]", "B"])
def test_the_shape_of_an_input_is_that_of_one_sample(batch: str) -> None:
    text = SPEC.format(f"{{shape: [n], batch: {batch}}}", "[n]")
    x, w = read_spec(Source("a.yaml", text)).inputs
    assert (x.shape, x.batch) == ((Dim.symbol("n"),), Dim.symbol("B"))
    assert w.batch is None


def test_the_size_of_a_batch_may_have_a_hint() -> None:
    text = SPEC.format("{shape: scalar, batch: [B]}", "[n]")
    spec = read_spec(Source("a.yaml", text.replace("inputs", "dims: {B: 9}\ninputs")))
    assert ("B", 9) in spec.hints


@pytest.mark.parametrize(
    ("x", "w", "parts"),
    [
        ("{shape: [n], batch: [B, C]}", "[n]", ["3:26:", "one batch axis"]),
        ("{shape: [n], batch: []}", "[n]", ["3:26:", "one batch axis", "batch: [B]"]),
        ("{shape: [n], batch: {B: 1}}", "[n]", ["3:19:", "a name or a list"]),
        ("{shape: [n], batch: [3]}", "[n]", ["3:27:", "a size by name, not '3'"]),
        ("{shape: [n], batch: [n + 1]}", "[n]", ["a size by name, not 'n + 1'"]),
        ("{shape: [n], batch: [x-]}", "[n]", ["3:27:", "not a size"]),
        ("{shape: [n], batc: [B]}", "[n]", ["did you mean 'batch'?"]),
        (
            "{shape: [n, n], batch: [B], sparse: true}",
            *("[n]", ["3:22:", "the same for all samples", "'batch'"]),
        ),
        (
            "{shape: scalar, default: 1, batch: [B]}",
            *("[n]", ["3:34:", "the same for all samples", "'batch'"]),
        ),
        (
            "{shape: [n], batch: [B]}",
            *("[B, n]", ["4:3:", "'w' is of one sample", "shape: [n], batch: [B]}"]),
        ),
        (
            "{shape: [n], batch: [B]}",
            *("[B]", ["4:3:", "write w: {shape: scalar, batch: [B]}"]),
        ),
        (
            "{shape: [n], batch: [B]}",
            *("[2*B]", ["4:3:", "no size of a sample mentions B"]),
        ),
        (
            "{shape: [n], batch: [B]}",
            *("{shape: [n], index: B}", ["4:3:", "B is how many there are"]),
        ),
        (
            "{shape: [n], batch: [B]}",
            *("{shape: [n], batch: [C]}", ["4:3:", "one batch axis, and this is 'C'"]),
        ),
    ],
)
def test_a_wrong_batch_is_reported(x: str, w: str, parts: list[str]) -> None:
    only(SPEC.format(x, w), *parts)


def test_rows_in_blocks_have_no_batch() -> None:
    text = SPEC.format("{shape: [n], batch: [B]}", "[n]") + "blocks: n\n"
    only(text, "6:9:", "rows of 'n' come in blocks, and 'x' has a batch")
