"""Inputs that are sparse matrices: values against dense ones, and what they hold."""

from __future__ import annotations

import re
import tracemalloc
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tensorgen.errors import SpecError, SpecWarning
from tests import made
from tests.device.library import execute, stand_in

SPEC = """
tensorgen: 1
inputs:
  w: [n]
  A: {shape: [m, n], sparse: true, doc: "samples, one a row"}
  y: [m]
  W: [n, k]
functions:
  product: A @ w
  transposed: A.T @ y
  matrix: A @ W
  gram: A.T @ diag(y) @ A
  other_gram: (A * w) @ A.T
  scaled: (2 * A * w) @ w
  twice: A @ (A.T @ y)
  total[i]: sum(A[i, j] * w[j], j)
  form: y @ A @ w
  loss:
    expr: sum(log(1 + exp(-y * (A @ w))))
    wrt: w
    emit: [value, gradient, hessian, hvp, problem]
  cubes: {expr: "sum(y * (A @ w)**3)", wrt: A, emit: [gradient, hessian, hvp]}
  both: {expr: "sum((A @ w - y)**2)", wrt: [w, A], emit: [gradient, hessian, hvp]}
  waves: {expr: "tanh(A @ w)", wrt: w, emit: [jacobian, jvp, vjp]}
  slopes: {expr: "tanh(A @ w)", wrt: A, emit: [jacobian, jvp, vjp]}
"""


@pytest.fixture(scope="module")
def module() -> ModuleType:
    return execute(made.generate(SPEC, backend="numpy"))


def given(m: int = 7, n: int = 5) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    A = sp.random_array((m, n), density=0.4, rng=rng, format="csr")
    shapes = {"w": (n,), "y": (m,), "W": (n, 3)}
    return {"A": A} | {name: rng.normal(size=shape) for name, shape in shapes.items()}


def same(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, 1e-12, 1e-12)


def sigmoid(t: Any) -> Any:
    return 1 / (1 + np.exp(-t))


def at_entries(A: Any, dense: Any) -> Any:
    """What an array has where a matrix has entries, by rows."""
    places = A.tocoo()
    return dense[places.row, places.col]


def test_products_are_those_of_the_dense_matrix(module: ModuleType) -> None:
    A, w, y, W = (given()[x] for x in "AwyW")
    D = A.toarray()
    same(module.product(w, A), D @ w)
    same(module.transposed(A, y), D.T @ y)
    same(module.matrix(A, W), D @ W)
    same(module.gram(A, y), D.T @ np.diag(y) @ D)
    same(module.other_gram(w, A), (D * w) @ D.T)
    same(module.scaled(w, A), (2 * D * w) @ w)
    same(module.twice(A, y), D @ D.T @ y)
    same(module.total(w, A), D @ w)
    same(module.form(w, A, y), y @ D @ w)


def test_derivatives_by_vectors_are_those_with_the_dense_matrix(
    module: ModuleType,
) -> None:
    A, w, y, d = *(given()[x] for x in "Awy"), np.arange(5.0)
    D, s = A.toarray(), sigmoid(-y * (A @ w))
    same(module.loss(w, A, y), np.logaddexp(0, -y * (D @ w)).sum())
    same(module.loss_grad(w, A, y), -D.T @ (y * s))
    H = D.T @ np.diag(y**2 * s * (1 - s)) @ D
    same(module.loss_hvp(w, A, y, d), H @ d)
    found = module.loss_hess(w, A, y)
    same(found.dense(), H)
    same(found @ d, H @ d)
    same(found.diagonal(), np.diag(H))
    same(found.solve(d, shift=1.0), np.linalg.solve(H + np.eye(5), d))
    J = (1 - np.tanh(D @ w) ** 2)[:, None] * D
    same(module.waves_jac(w, A).dense(), J)
    same(module.waves_jvp(w, A, d)[1], J @ d)
    same(module.waves_vjp(w, A, y)[1], y @ J)


def test_a_derivative_by_a_matrix_is_by_its_entries_row_by_row(
    module: ModuleType,
) -> None:
    A, w, y = (given()[x] for x in "Awy")
    D, r = A.toarray(), A @ w
    same(module.cubes_grad(w, A, y), at_entries(A, np.outer(3 * y * r**2, w)))
    rows, columns = A.tocoo().row, A.tocoo().col
    H = np.where(
        rows[:, None] == rows, np.outer(w[columns], (6 * y * r)[rows] * w[columns]), 0
    )
    d = np.cos(np.arange(A.nnz))
    same(module.cubes_hess(w, A, y).dense(), H)
    same(module.cubes_hvp(w, A, y, d), H @ d)
    found = module.both_grad(w, A, y)
    same(found.w, 2 * D.T @ (r - y))
    same(found.A_values, at_entries(A, np.outer(2 * (r - y), w)))
    J = module.slopes_jac(w, A).dense()
    same(
        J,
        np.where(np.arange(7)[:, None] == rows, w[columns], 0)
        / np.cosh(r)[:, None] ** 2,
    )
    same(module.slopes_jvp(w, A, d)[1], J @ d)
    same(module.slopes_vjp(w, A, y)[1], y @ J)


def test_blocks_by_vectors_and_entries_multiply_as_hvp_does(module: ModuleType) -> None:
    A, w, y = (given()[x] for x in "Awy")
    d, dA = np.sin(np.arange(5.0)), np.cos(np.arange(A.nnz))
    whole = module.both_hess(w, A, y) @ np.concatenate([d, dA])
    found = module.both_hvp(w, A, y, d, dA)
    same(whole, np.concatenate([found.w, found.A_values]))


@pytest.mark.parametrize(
    "kind",
    [
        *(sp.csr_array, sp.csc_array, sp.coo_array, sp.bsr_array, sp.lil_array),
        *(sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.dok_matrix, sp.dok_array),
    ],
)
def test_any_format_is_taken(module: ModuleType, kind: Any) -> None:
    A, w, y = (given()[x] for x in "Awy")
    same(module.loss_grad(w, kind(A), y), module.loss_grad(w, A, y))
    same(module.cubes_grad(w, kind(A), y), module.cubes_grad(w, A, y))


def test_entries_of_one_place_are_added_up_and_zeros_are_kept(
    module: ModuleType,
) -> None:
    data, columns, starts = [1.0, 2.0, 0.0, 4.0], [1, 1, 0, 2], [0, 2, 3, 4]
    A = sp.csr_array((data, columns, starts), shape=(3, 4))
    w, y = np.arange(1.0, 5), np.arange(1.0, 4)
    D = np.zeros((3, 4))
    D[0, 1], D[2, 2] = 3, 4
    same(module.product(w, A), D @ w)
    same(module.gram(A, y), D.T @ np.diag(y) @ D)
    # The entries: (0, 1), (1, 0), a zero, and (2, 2).
    r = D @ w
    same(module.cubes_grad(w, A, y), 3 * (y * r**2) * w[[1, 0, 2]])
    assert A.data.tolist() == data and A.indices.tolist() == columns


def test_unsorted_entries_are_sorted_in_a_copy(module: ModuleType) -> None:
    A = sp.csr_array(([1.0, 2.0], [2, 0], [0, 2, 2]), shape=(2, 3))
    w, y = np.array([1.0, 10, 100]), np.ones(2)
    r = 1.0 * 100 + 2 * 1
    same(module.cubes_grad(w, A, y), 3 * r**2 * w[[0, 2]])
    assert A.indices.tolist() == [2, 0] and A.data.tolist() == [1, 2]


@pytest.mark.parametrize("shape", [(4, 3), (0, 3), (4, 0), (0, 0)])
def test_a_matrix_may_be_empty(module: ModuleType, shape: tuple[int, int]) -> None:
    m, n = shape
    A, w, y = sp.csr_array(shape), np.ones(n), np.ones(m)
    same(module.product(w, A), np.zeros(m))
    same(module.loss(w, A, y), m * np.log(2))
    same(module.loss_grad(w, A, y), np.zeros(n))
    same(module.loss_hess(w, A, y).dense(), np.zeros((n, n)))
    assert module.cubes_grad(w, A, y).shape == (0,)


def test_the_dtype_is_that_of_all_arguments(module: ModuleType) -> None:
    A, w = given()["A"], given()["w"]
    assert module.product(w.astype("f"), A.astype("f")).dtype == np.float32
    assert module.product(w.astype("f"), A).dtype == np.float64
    assert module.product(w, A.astype(int)).dtype == np.float64
    assert module.product(w.astype("f"), A != 0).dtype == np.float64


def test_what_is_no_sparse_matrix_is_refused_with_a_hint(module: ModuleType) -> None:
    A, w = given()["A"], given()["w"]
    hint = r"^A: expected a sparse matrix, got ndarray; scipy.sparse.csr_array\(A\) "
    with pytest.raises(TypeError, match=hint):
        module.product(w, A.toarray())
    with pytest.raises(TypeError, match=r"^A: expected a sparse matrix, got list"):
        module.product(w, A.toarray().tolist())
    with pytest.raises(TypeError, match=r"^A: expected real numbers"):
        module.product(w, A.astype(complex))
    with pytest.raises(
        ValueError, match=r"^A: expected shape \(m, n\) = \(5, 5\), got"
    ):
        module.product(w, A.T)
    with pytest.raises(ValueError, match=r"^A: expected a matrix, got shape \(3,\)"):
        module.product(w, sp.coo_array([1.0, 2, 3]))
    with pytest.raises(TypeError, match=r"^w: expected real numbers"):
        module.product(A, A)


def test_a_problem_converts_once(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    A, w, y = (given()[x] for x in "Awy")
    calls = []

    def counted(name: str, run: Any) -> Any:
        def call(*given: Any) -> Any:
            calls.append(name)
            return run(*given)

        return call

    monkeypatch.setattr(module, "_pairs", counted("pairs", vars(module)["_pairs"]))
    by_rows = counted("convert", sp.csc_array.tocsr)
    monkeypatch.setattr(sp.csc_array, "tocsr", by_rows)
    problem = module.LossProblem(A=sp.csc_array(A), y=y)
    assert calls == ["convert"]
    for step in range(3):
        v = w + step
        same(problem.value(v), module.loss(v, A, y))
        same(problem.gradient(v), module.loss_grad(v, A, y))
        same(problem.hvp(v, w), module.loss_hvp(v, A, y, w))
    assert calls == ["convert"]
    for step in range(3):
        problem.hessian(w + step)
    assert calls == ["convert"]
    single = module.LossProblem(A=A.astype("f"), y=y.astype("f"))
    assert single.value(w.astype("f")).dtype == np.float32
    assert single.value(w).dtype == np.float64


def test_no_array_is_larger_than_the_entries(module: ModuleType) -> None:
    size, count = 100_000, 5
    rng = np.random.default_rng(0)
    columns = rng.integers(0, size, (size, count)).ravel()
    starts = np.arange(0, size * count + 1, count)
    A = sp.csr_array((rng.normal(size=size * count), columns, starts), (size, size))
    w, y = rng.normal(size=size), rng.normal(size=size)
    A.sum_duplicates()
    most = 100 * A.nnz * 8  # pairs are five times as many
    tracemalloc.start()
    try:
        module.loss_grad(w, A, y)
        module.loss_hvp(w, A, y, w)
        module.both_hvp(w, A, y, w, np.ones(A.nnz))
        hessian = module.loss_hess(w, A, y)
        same(hessian @ w, module.loss_hvp(w, A, y, w))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < most
    assert hessian.nbytes < 3 * 8 * count * 6 * size


def test_a_module_for_cupy_takes_its_sparse_matrices(module: ModuleType) -> None:
    A, w, y = (given()[x] for x in "Awy")
    with stand_in() as cupy:
        import cupyx.scipy.sparse as device

        other = execute(made.generate(SPEC, backend="cupy"))
        on = {"w": cupy.asarray(w), "y": cupy.asarray(y)}
        for given_matrix in (device.csr_matrix(A), device.csc_matrix(A.tocsc())):
            on["A"] = given_matrix
            same(other.loss_grad(**on).get(), module.loss_grad(w, A, y))
            same(other.loss_hess(**on).dense().get(), module.loss_hess(w, A, y).dense())
            same(other.gram(on["A"], on["y"]).get(), module.gram(A, y))
        hint = r"got ndarray; cupyx.scipy.sparse.csr_matrix\(A\) converts it"
        with pytest.raises(TypeError, match=hint):
            other.product(on["w"], on["y"])
        with pytest.raises(TypeError, match=r"^A: expected a CuPy array"):
            other.product(on["w"], A)


def test_the_module_needs_scipy_only_where_the_caller_has_it(
    module: ModuleType,
) -> None:
    text = made.generate(SPEC, backend="numpy")
    assert "\nimport scipy" not in text and "\nfrom scipy" not in text


@pytest.mark.parametrize(
    "expr",
    [
        "exp(A) @ w",
        "sum(A + 1)",
        "A",
        "A.T",
        "A**2",
        "max(A)",
        "2 * A",
        "A * w",
    ],
)
def test_what_would_fill_in_the_matrix_is_refused(expr: str) -> None:
    with pytest.raises(SpecError, match="'f' would fill in a sparse matrix"):
        made.generate(SPEC + f"  f: {expr}\n", backend="numpy")


def test_products_of_two_sparse_matrices_are_taken_by_vectors_alone() -> None:
    two = SPEC.replace("inputs:", "inputs:\n  B: {shape: [m, n], sparse: true}")
    made.generate(two + "  f: A.T @ (B @ w)\n", backend="numpy")
    for expr in ("A.T @ B", "sum(A * B)"):
        with pytest.raises(SpecError, match="compare all entries of sparse matrices"):
            made.generate(two + f"  f: {expr}\n", backend="numpy")


def test_a_dense_derivative_may_fill_in_what_is_no_larger() -> None:
    head = "tensorgen: 1\ninputs:\n  w: [n]\n  A: {shape: [n, n], sparse: true}\n"
    head += "  B: {shape: [n, n], sparse: true}\n  C: {shape: [m, n], sparse: true}\n"
    head += "  D: {shape: [m, n], sparse: true}\nfunctions:\n  f: "
    text = "{expr: sum((A @ w * (B @ w))**2), wrt: w, emit: [value, hessian]}"
    with pytest.warns(SpecWarning, match=r"filled in for it; 'hvp' .*\[filled\]"):
        found = execute(made.generate(head + text, backend="numpy"))
    A, B = (sp.csr_array(np.tril(np.arange(k, k + 16.0).reshape(4, 4))) for k in (1, 3))
    w, a, b = np.array([1.0, -2.0, 0.5, 3.0]), A.toarray(), B.toarray()
    p, q = a @ w, b @ w
    cross = a.T @ np.diag(4 * p * q) @ b
    wanted = a.T @ np.diag(2 * q * q) @ a + b.T @ np.diag(2 * p * p) @ b
    same(found.f_hess(w, A, B).dense(), wanted + cross + cross.T)
    # Nothing that is returned has m rows, of which there may be many.
    text = text.replace("A", "C").replace("B", "D")
    with pytest.raises(SpecError, match="'f_hess' would fill in a sparse matrix"):
        made.generate(head + text, backend="numpy")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "f: {expr: A_rows, wrt: w}\n  A_values: w",
            "'A_values' is the name of the val",
        ),
        ("f: {where: A_row_first = w, expr: w}", "'A_row_first' is the name of"),
        ("f: sum(A_values)", "A_values"),
        ("f: {expr: y @ A @ w, wrt: {A: symmetric}}", "'A' is no square matrix"),
        ("f: {expr: y @ A @ w, wrt: A, emit: problem}", "'A' is sparse"),
        ("f: sum(grad(y @ A @ w, A))", "'A' is not an input to differentiate by"),
        ("f: {expr: y @ A @ w, wrt: A_values}", "'A_values' is not an input"),
    ],
)
def test_what_cannot_be_said_of_a_sparse_matrix_is_reported(
    lines: str, message: str
) -> None:
    with pytest.raises(SpecError, match=re.escape(message)):
        made.generate(SPEC + f"  {lines}\n", backend="numpy")


def test_a_direction_has_a_number_for_each_entry(module: ModuleType) -> None:
    A, w, y = (given()[x] for x in "Awy")
    with pytest.raises(ValueError, match=r"^dA_values: expected shape \(\d+,\), a num"):
        module.cubes_hvp(w, A, y, np.ones(A.nnz + 1))


def test_products_with_arrays_are_those_of_the_library() -> None:
    text = made.generate(SPEC, backend="numpy")
    parts = text.split("\ndef ")[1:]
    bodies = {p.partition("(")[0]: p.split('"""')[-1] for p in parts}
    for name in ("product", "transposed", "matrix", "twice", "loss", "loss_grad"):
        assert "A.times(" in bodies[name] and "A_" not in bodies[name], name
    assert "A.times(" in bodies["loss_hvp"]
    # By entries there is no matrix to ask.
    assert "A_values" not in bodies["cubes_grad"] and "A_rows" in bodies["cubes_grad"]


ENTRYWISE = """
  squares: {expr: sum(A**2), wrt: A, emit: [value, gradient, hessian, hvp]}
  twice_squares: {expr: sum(A * A), wrt: A, emit: [value, gradient]}
  frobenius: {expr: norm(2 * A), wrt: A, emit: [value, gradient, hvp]}
  penalty: {expr: "sum((A @ w - y)**2) + sum(log(1 + A**2))", wrt: A, emit: hvp}
  absolute: sum(abs(A))
  waves: tanh(3 * A) @ w
  columns: sum(A.T**2, axis=1)
  traced: trace(A.T @ A)
  sides: diag(A @ A.T)
"""


def test_functions_that_are_zero_at_zero_are_of_the_entries_alone() -> None:
    spec = SPEC.partition("functions:")[0] + "functions:" + ENTRYWISE
    module = execute(made.generate(spec, backend="numpy"))
    A, w, y = (given()[x] for x in "Awy")
    D, v, d = A.toarray(), A.data, np.cos(np.arange(A.nnz))
    same(module.squares(A), (D**2).sum())
    same(module.squares_grad(A), 2 * v)
    same(module.squares_hess(A).dense(), 2 * np.eye(A.nnz))
    same(module.squares_hvp(A, d), 2 * d)
    same(module.twice_squares(A), (D**2).sum())
    same(module.twice_squares_grad(A), 2 * v)
    size = np.linalg.norm(v)
    same(module.frobenius(A), 2 * size)
    same(module.frobenius_grad(A), 2 * v / size)
    same(module.frobenius_hvp(A, d), 2 * (d - v * (v @ d) / size**2) / size)
    rows, columns = A.tocoo().row, A.tocoo().col
    moved = np.bincount(rows, d * w[columns], len(y))
    curve = 2 * (1 - v**2) / (1 + v**2) ** 2
    same(module.penalty_hvp(w, A, y, d), 2 * moved[rows] * w[columns] + curve * d)
    same(module.absolute(A), abs(D).sum())
    same(module.waves(w, A), np.tanh(3 * D) @ w)
    same(module.columns(A), (D**2).sum(axis=0))
    same(module.traced(A), np.trace(D.T @ D))
    same(module.sides(A), np.diag(D @ D.T))
