"""Each rewrite of arrays has a witness: a spec whose text is another one without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tensorgen.arrays import rewrites
from tensorgen.errors import Source
from tensorgen.pipeline import compile_spec

LINKED = """
inputs: {v: [n], a: {shape: [m], index: n}, b: {shape: [m], index: n}, g: [m]}
functions:
  f: {expr: "sum((g*v[a]**2 - v[a]*v[b])**2)", wrt: v, emit: [gradient]}
"""
STACK = """
inputs: {X: [b, t, n], W: [n, n]}
functions:
  f: {expr: sum(X*tanh(X @ W)), wrt: W, emit: [gradient]}
"""
LARGE = """
dims: {n: 3_000_000}
inputs: {x: [n], y: [n], z: [n]}
functions:
  f: {expr: sum(log(1 + exp(x*y))*tanh(z)*sin(x)), wrt: x, emit: [value]}
"""
LAYERS = """
dims: {n: 50, s: 10}
inputs: {U: [n, n], V: [n, n], W: [n, n], T: [n, n], X: [n, s]}
functions:
  f:
    expr: sum(logsumexp(T @ tanh(W @ tanh(V @ tanh(U @ X))), axis=0))
    wrt: U
    emit: [hessian]
"""
# In the order of the table.
WITNESSES = (
    ("gather_once", LINKED),
    ("join_axes", STACK),
    ("straighten", LAYERS),
    ("quicken", LARGE),
    ("block", LARGE),
    ("save_memory", LAYERS),
    ("break_sums", LAYERS),
)


def text(spec: str) -> str:
    """The text generated from a spec."""
    source = Source.decode("<witness>", f"tensorgen: 1\n{spec}".encode())
    (found,) = compile_spec(source, ["numpy"], "cross-country", False).values()
    return found


@pytest.mark.parametrize("place", range(len(WITNESSES)), ids=lambda k: WITNESSES[k][0])
def test_without_a_rewrite_its_witness_is_another_text(
    place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, spec = WITNESSES[place]
    rows = [*rewrites.REWRITES]
    assert rows[place].name == name
    before = text(spec)
    rows[place] = replace(rows[place], run=lambda code, scene: code)
    monkeypatch.setattr(rewrites, "REWRITES", tuple(rows))
    assert text(spec) != before


def test_every_rewrite_has_a_witness_and_says_what_it_is() -> None:
    assert [row.name for row in rewrites.REWRITES] == [name for name, _ in WITNESSES]
    for row in rewrites.REWRITES:
        assert row.law and row.needs and row.ends
