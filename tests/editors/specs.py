"""Specs with marks in them, for tests of what stands where."""

from __future__ import annotations

from tensorgen.editor.faults import read
from tensorgen.errors import Source
from tensorgen.lang import Program
from tensorgen.operators.index_notation import dump

SPEC = """\
tensorgen: 1
dims: {m: 50, n: 20}
inputs:
  x: {shape: [n], positive: true, doc: the unknowns}
  X: [m, n]
  row: {shape: [e], index: n}
  a: {shape: scalar, default: 0.5}
unknowns:
  y: {shape: [n], equation: y**3 + y - x}
definitions: |
  double(t, u) = 2 * t + u
functions:
  both: {expr: {loss: sum(x), pred: X @ x}}
  f[i]:
    where: |
      d[k] = x[k + 1] - x[k]
      s[0] = a
      s[t + 1] = s[t] + d[t]
      total = sum(d[k], k=range(n - 1)) + sum(x[n], n=range(n))
    expr: x[i] + double(a, total) + s[0]  # total is no sum
    wrt: x
    emit: [value, jacobian, [x, x]]
  g: sum(f**2) + both.loss + sum(both.pred) + n + norm(y)
problem:
  minimize: g
  variables: {x: {lower: 0, upper: a}}
"""


def at(marked: str, mark: str = "|>") -> tuple[Source, int]:
    """Return a text without its mark, and the offset of that."""
    before, _, behind = marked.partition(mark)
    return Source("a.yaml", before + behind), len(before)


def inside(before: str, text: str = SPEC) -> tuple[Source, int]:
    """Return a spec, and the offset behind a piece of it that it has once."""
    assert text.count(before) == 1, before
    return Source("a.yaml", text), text.index(before) + len(before)


def nodes(text: str) -> str:
    """Return what the functions of a spec are for the compiler."""
    program = read(Source("a.yaml", text))
    assert isinstance(program, Program)
    return "\n".join(dump([function.node]) for function in program.functions)
