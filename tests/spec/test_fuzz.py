"""No text, however broken, gets anything but a spec or a report of its faults."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorgen.errors import Source, SpecError
from tensorgen.spec.model import Spec
from tensorgen.spec.read import read_spec

VALID = """\
tensorgen: 1
module: logreg
doc: Logistic regression.
dims: {m: 2000, n: 1000}
definitions: |
  huber(t, d) = where(abs(t) <= d, t**2/2, d*(abs(t) - d/2))
inputs:
  w: [n]
  X: {shape: [m, 2*n - 1], doc: data matrix, one sample a row}
  row: {shape: [e], index: m}
  S: {shape: [n, n], spd: true}
  lam: {shape: scalar, default: 1e-3}
functions:
  loss:
    where: |
      z = X @ w   # scores
      t[i] = -y[i] *
        z[i]
    expr: sum(log(1 + exp(t))) + lam * norm(w)**2
    wrt: [w, lam]
    emit: [value, gradient, hvp, problem, [w, lam]]
  g: {expr: "sum(X, axis=0)", where: {a: 1, "b[i]": 'i'}, wrt: w, emit: [jvp, 3]}
  f[i, j]: X[i, j] * w[j]
  s: >-
    a +
    b
"""
PIECES = [
    *"{}[]()|>:,#&*!%@`'\"\\\n\t -=?~",
    ": ",
    " #",
    "\n\n",
    "---",
    "<<",
    "\ufeff",
    "\x00",
    "\u2028",
    "\x85",
    "\ud7ff",
    "\U0001f600",
    "é",
    "9" * 40,
    "- ",
    "!!str ",
    "__x__",
    "class",
]


def mutate(text: str, rng: random.Random) -> str:
    """Return the text after a few slips of the pen."""
    for _ in range(rng.randint(1, 4)):
        at, to = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        near = min(at + rng.randint(0, 6), len(text))
        match rng.randrange(6):
            case 0:
                text = text[:at] + text[near:]
            case 1:
                text = text[:at] + rng.choice(PIECES) + text[at:]
            case 2:
                text = text[:at] + rng.choice(PIECES) + text[near:]
            case 3:
                lines = text.splitlines(keepends=True)
                rng.shuffle(lines)
                text = "".join(lines) if rng.random() < 0.1 else text[:to]
            case 4:
                text = text[:to] + text[at:]
            case _:
                text = text[:at] + text[to:]
    return text


def check(text: str) -> Spec | None:
    source = Source("a.yaml", text)
    try:
        return read_spec(source)
    except SpecError as error:
        assert error.diagnostics
        for fault in error.diagnostics:
            assert fault.span is not None
            assert fault.span.source is source
            assert 0 <= fault.span.start <= fault.span.end <= len(text) + 1
            assert fault.render().startswith(f"a.yaml:{fault.span.line}:")
            assert "\x00" not in fault.render()
        assert str(error)
        return None


def test_the_text_that_is_mutated_is_valid() -> None:
    assert check(VALID) is not None


@pytest.mark.parametrize("block", range(8))
def test_a_mutated_spec_is_read_or_its_faults_are_reported(block: int) -> None:
    rng = random.Random(block)
    outcomes = [check(mutate(VALID, rng)) is None for _ in range(50)]
    assert any(outcomes)


@settings(max_examples=150)
@given(
    st.text(alphabet=st.sampled_from("ab1[]{}:,-#|>'\"\n \t&*!?\\\x00é"), max_size=60)
)
def test_any_text_is_read_or_its_faults_are_reported(text: str) -> None:
    assert check(text) is None
    check("tensorgen: 1\nfunctions:\n  f:\n    " + text)
    check("tensorgen: 1\ninputs: {a: [n], b: " + text + "}\nfunctions: {f: a}")


@settings(max_examples=100)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_their_faults_are_reported(data: bytes) -> None:
    with pytest.raises(SpecError) as caught:
        read_spec(Source.decode("a.yaml", data))
    assert str(caught.value).startswith("a.yaml:")
