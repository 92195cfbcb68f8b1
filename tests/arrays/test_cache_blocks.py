"""Large arrays go through memory once: a block at a time."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.prices.thresholds import BLOCK
from tests.made import generate, load, source

HEAD = "tensorgen: 1\nmodule: blocks\n"
MASKED = """
inputs: {U: [m, k], V: [n, k], R: [m, n], M: [m, n]}
functions:
  f:
    expr: sum((M*(U @ V.T - R))**2) + sum(U**2)
    wrt: [U, V]
    emit: [value, gradient]
"""
SOFTPLUS = """
inputs: {t: [n], s: scalar}
functions:
  f: {expr: 's*sum(log(1 + exp(-s*t)))', wrt: t, emit: [value, gradient]}
"""
SQUARE = """
inputs: {A: [n, n], x: [n]}
functions:
  f:
    where: |
      z = tanh(x)
      E = sqrt(1 + (A*z)**2)
    expr: sum(E @ z)
    wrt: x
    emit: [value, gradient]
"""
ROWS = """
inputs: {A: [m, n], b: [n], c: [m]}
functions:
  f:
    expr: c @ logsumexp(sin(A) + b, axis=1) + sum(max(A*b, axis=1))
    wrt: [b, c]
    emit: [value, gradient]
"""
KEPT = """
inputs: {x: [n], y: [n]}
functions:
  f:
    where: |
      e = exp(-x**2)
      p = e/sum(e)
    expr: sum(p*log(1 + y**2)) + sum(e*sin(y))
    wrt: [x, y]
    emit: [value, gradient]
"""
ANGLES = """
inputs: {A: [m, n], i: {shape: [m], index: k}, v: [k]}
functions:
  f:
    expr: sum(exp(-A**2)*v[i][:, None]) + sum(where(A > 0, sqrt(1 + A), cos(A)))
    wrt: [A, v]
    emit: [gradient]
"""
COLUMNS = """
inputs: {A: [m, n], w: [m]}
functions:
  f: {expr: 'sum((A.T*w)[1:, :]**2) + sum(A*abs(A)*arange(m)[:, None])', wrt: A}
"""
SPECS = {
    "masked": (MASKED, {"m": 700, "n": 300, "k": 3}),
    "softplus": (SOFTPLUS, {"n": 70_000}),
    "square": (SQUARE, {"n": 600}),
    "rows": (ROWS, {"m": 900, "n": 200}),
    "kept": (KEPT, {"n": 70_001}),
    "angles": (ANGLES, {"m": 600, "n": 400, "k": 7}),
    "columns": (COLUMNS, {"m": 600, "n": 300}),
}
LOOP = r"\n    for block in _blocks\("


def with_hints(text: str) -> str:
    symbols = dict.fromkeys(re.findall(r"\b[mnk]\b(?=[],])", text))
    dims = ", ".join(
        f"{x}: {5 if x == 'k' else 4000 if 'A' in text or 'M' in text else 10_000_000}"
        for x in symbols
    )
    return f"{HEAD}dims: {{{dims}}}\n{text}"


def data(name: str, **sizes: int) -> dict[str, Any]:
    text, usual = SPECS[name]
    sizes = {**usual, **sizes}
    rng = np.random.default_rng(3)
    found: dict[str, Any] = {}
    for own, axes in re.findall(
        r"\b([A-Za-z]): \[([mnk, ]+)\]", text.split("functions")[0]
    ):
        found[own] = rng.normal(size=[sizes[x] for x in axes.split(", ")])
    if "s: scalar" in text:
        found["s"] = 1.5
    if "index" in text:
        found["i"] = rng.integers(0, sizes["k"], sizes["m"])
    return found


def results(module: Any, given: dict[str, Any]) -> list[Any]:
    call = getattr(module, "f_value_and_grad", None) or module.f_grad
    waiting, found = [call(**given)], []
    while waiting:
        one = waiting.pop()
        if isinstance(one, tuple):
            waiting += one
        else:
            found.append(one)
    return found


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_blocks_make_what_the_whole_does(name: str, dtype: type) -> None:
    text = SPECS[name][0]
    assert re.search(LOOP, generate(with_hints(text)).split("def _arrays")[0])
    assert not re.search(LOOP, generate(HEAD + text))
    given = data(name)
    given = {
        x: v.astype(dtype) if isinstance(v, np.ndarray) and x != "i" else v
        for x, v in given.items()
    }
    found, expected = (results(load(s), given) for s in (with_hints(text), HEAD + text))
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        scale = np.abs(b).max()
        np.testing.assert_allclose(a, b, rtol=0, atol=200 * np.finfo(dtype).eps * scale)


@pytest.mark.parametrize("size", [0, 1, BLOCK, BLOCK + 1, 2 * BLOCK])
def test_sizes_around_those_of_blocks(size: int) -> None:
    given = data("softplus", n=size)
    text = SPECS["softplus"][0]
    found, expected = (results(load(s), given) for s in (with_hints(text), HEAD + text))
    for a, b in zip(found, expected, strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_rows_without_entries_are_no_fault() -> None:
    for sizes in ({"n": 0}, {"m": 0}, {"k": 0}):
        module = load(with_hints(MASKED))
        for one in results(module, data("masked", **sizes)):
            assert not np.any(np.isnan(one))


def test_small_arrays_and_other_libraries_stay_as_they_are() -> None:
    small = f"{HEAD}dims: {{m: 100, n: 50, k: 5}}\n{MASKED}"
    assert not re.search(LOOP, generate(small))
    assert not re.search(LOOP, tensorgen.generate(with_hints(MASKED), backend="cupy"))


def test_no_large_array_is_held() -> None:
    source = generate(with_hints(MASKED))
    body = source[source.index("def f_value_and_grad") :]
    assert "M_residual" in body and not re.search(r"\n    M\w*_residual =", body)


def test_what_blocks_read_as_a_whole_is_made_before_them() -> None:
    source = generate(with_hints(SQUARE))
    body = source[source.index("def f_grad") :]
    assert re.search(r"\n    z = np.tanh\(x\)", body)


def test_sums_of_whole_arrays_are_made_before_blocks_that_read_them() -> None:
    spec = """
inputs: {X: [n, d], S: {shape: [n, n], symmetric: true}}
functions:
  f:
    where: |
      D[i, j] = 1 / (1 + sum((X[i, k] - X[j, k])**2, k))
    expr: sum(S*log(D/sum(D)))
    wrt: X
    emit: [gradient]
"""
    hints = "dims: {n: 1000, d: 50}\n"
    source = generate(HEAD + hints + spec)
    body = source[source.index("def f_grad(") : source.index("    return grad")]
    before, _, loop = body.partition("    for block")
    assert "D.sum()" in before and loop and not re.search(r"\.sum\(\)", loop)


EMBEDDINGS = """
inputs:
  U: [n, k]
  V: [m, k]
  b: [n]
  row: {shape: [e], index: n}
  col: {shape: [e], index: m}
  x: [e]
functions:
  f:
    where: r[i] = sum(U[row[i], c]*V[col[i], c], c) + b[row[i]] - x[i]
    expr: sum(r**2)/2 + sum(U**2) + sum(exp(b))
    wrt: [U, V, b]
    emit: [value, gradient]
"""


def embeddings(kind: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    shapes = {"U": (50, 7), "V": (60, 7), "b": (50,), "x": (20_000,)}
    given = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    row, col = (rng.integers(0, size, 20_000).astype(kind) for size in (50, 60))
    return {**given, "row": row, "col": col}


@pytest.mark.parametrize("kind", ["int64", "uint64", "uint8"])
def test_entries_are_added_where_indices_say_block_by_block(kind: str) -> None:
    hinted = f"{HEAD}dims: {{e: 1000000, n: 10000, m: 10000, k: 20}}\n{EMBEDDINGS}"
    text = generate(hinted)
    body = source(text, "f_value_and_grad")
    loop, _, _ = body[body.index("    for block in _blocks(") :].partition("\ndef ")
    assert loop.count("\n        _add_at(") == 2 and "row.shape" not in loop
    rows, _, _ = text[text.index("def _f_block(") :].partition("\n\n\n")
    assert "U_row = U.take(row, axis=0)" in rows
    assert 'np.einsum("ij,ij->i", U_row, V_col)' in rows
    found = results(load(hinted), embeddings(kind))
    expected = results(load(HEAD + EMBEDDINGS), embeddings("int64"))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


SHARES = """
inputs: {x: [e], row: {shape: [e], index: e}}
functions:
  f:
    where: |
      s[q] = sum(exp(x[i]), i, row[i] == q)
    expr: sum(log(1 + s)*sin(x))
    wrt: x
    emit: [value, gradient]
"""


def test_what_indices_add_to_is_no_part_of_the_blocks_that_read_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tensorgen.arrays.cache_blocks.GAIN_OF_ORDER", 0.0)
    hinted = f"{HEAD}dims: {{e: 3000000}}\n{SHARES}"
    assert re.search(LOOP, generate(hinted))
    rng = np.random.default_rng(0)
    given = {"x": rng.normal(size=70_000), "row": rng.integers(0, 70_000, 70_000)}
    found, expected = (results(load(s), given) for s in (hinted, HEAD + SHARES))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


PAIRS = """
inputs: {Y: [n, d], P: {shape: [n, n], positive: true}}
functions:
  f:
    where: q[i, j] = 1/(1 + norm(Y[i, :] - Y[j, :])**2)
    expr: sum(P[i, j]*log(1 + q[i, j]/sum(q)), i, j)
    wrt: Y
    emit: [value, gradient]
"""


def test_rows_of_squared_distances_are_made_block_by_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Blocks of the gradient hold most of what they make as a whole.
    monkeypatch.setattr("tensorgen.arrays.cache_blocks.SHARE_OF_HELD", 0.5)
    hinted = f"{HEAD}dims: {{n: 3000, d: 3}}\n{PAIRS}"
    source = generate(hinted)
    body = source[source.index("def _f_block(") :]
    assert re.search(r"_squared_distances\(Y_part, Y\)", body)
    assert not re.search(r"zeros\(\(n, n, d|:, :, None", body)
    rng = np.random.default_rng(0)
    given = {"Y": rng.normal(size=(200, 3)), "P": rng.random((200, 200))}
    found, expected = (results(load(s), given) for s in (hinted, HEAD + PAIRS))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_what_is_changed_behind_the_loop_is_written_once_in_it() -> None:
    text = generate(HEAD + """
dims: {n: 1000}
inputs: {X: [n, 4], y: [n], c: scalar, s: scalar}
functions:
  f:
    where: "S[i, j] = exp(-c*sum(abs(X[i, k] - X[j, k]), k)) + s*delta(i, j)"
    expr: y @ inv(S) @ y
    wrt: [c, s]
    emit: [value, gradient]
""")
    body = text[text.index("def f_value_and_grad") :]
    (loop,) = re.findall(r"for block in .*\n((?: {8}.*\n)+)", body)
    (stored,) = re.findall(r"S\[block\] = (\w+)\n", loop)
    assert f"] = {stored}\n" in loop.replace(f"S[block] = {stored}\n", "")
    assert "arange" not in loop


def test_sums_over_rows_that_are_read_go_by_blocks() -> None:
    text = generate(
        f"{HEAD}dims: {{E: 66000, m: 3000, k: 4}}\n"
        "inputs: {U: [m, k], V: [m, k], y: [E], row: {shape: [E], index: m},\n"
        "  col: {shape: [E], index: m}}\n"
        "functions:\n"
        "  f:\n"
        "    expr: sum((sum(U[row[e], d]*V[col[e], d], d) - y[e])**2, e)\n"
    )
    assert f"for block in _blocks(E, k, {BLOCK}):" in text.split("def f(")[1]


def test_masks_that_blocks_make_are_masks() -> None:
    """They are combined behind the loop, as numbers cannot be."""
    text = tensorgen.generate("""tensorgen: 1
dims: {n: 300}
inputs: {R: [n, 3], d: scalar, box: scalar}
functions:
  E:
    where: |
      D = R[:, None, :] - R[None, :, :]
      D1 = D - box*round(D/box)
      r[i, j] = where(i != j, sqrt(sum(D1**2, axis=2)[i, j]), 1e10)
      rho[i] = sum(where(r[i, j] < d, (r[i, j] - d)**2, 0), j)
    expr: sum(sqrt(rho))
    wrt: R
    emit: [gradient]
""")
    assert "mask = np.zeros((n, n), dtype=bool)" in text


def test_what_steps_make_of_an_array_is_read_by_no_block_before_them() -> None:
    hinted = """tensorgen: 1
dims: {m: 40, n: 30, s: 20000}
inputs: {a: [n], at: {shape: [n], index: m}, x: [m, s]}
functions:
  f:
    where: |
      p[0, j, i] = x[j, i]
      p[k + 1, j=range(m), i] = where(j == k, a[k]*p[k, at[k], i], p[k, j, i])
    expr: sum(log(p[n, m - 1, i]), i)
    wrt: a
"""
    random = np.random.default_rng(5)
    given = (
        random.uniform(1, 2, 4),
        np.array([1, 3, 0, 2]),
        random.uniform(1, 2, (4, 3)),
    )
    plain = re.sub("dims: .*", "dims: [m, n, s]", hinted)
    expected = tensorgen.load(plain).f_grad(*given)
    np.testing.assert_allclose(expected, [1, 0, 1, 1] * (3 / given[0]), rtol=1e-12)
    np.testing.assert_allclose(tensorgen.load(hinted).f_grad(*given), expected)


def test_rows_that_fit_into_no_cache_are_no_blocks() -> None:
    text = """
dims: {B: 100000, n: 20, k: 10}
inputs: {x: {shape: [n], batch: [B]}, W: [k, n]}
functions:
  f: {expr: sum(tanh(W @ x)**2), wrt: x, emit: [gradient]}
"""
    assert "_blocks(k" not in generate(HEAD + text)
