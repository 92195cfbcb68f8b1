"""Derivative objects: products, entries, solving, what they hold."""

from __future__ import annotations

import pickle
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tensorgen.calculus.kinds import KINDS, pairs
from tensorgen.emit.interface import Function, Parameter
from tests.emit.models import (
    K,
    M,
    N,
    body,
    factorization_module,
    load,
    logistic_module,
    module,
)

RNG = np.random.default_rng(0)
w, X, y = RNG.normal(size=4), RNG.normal(size=(7, 4)), np.sign(RNG.normal(size=7))
T, U, V = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2))


@pytest.fixture(scope="module")
def hessian() -> Any:
    return load(logistic_module()).loss_hess(w, X, y, lam=0.1)


@pytest.fixture(scope="module")
def fit() -> ModuleType:
    return load(factorization_module())


def given(expression: str, *dims: Any, value: Any, kind: str = "hessian") -> Any:
    """Return the Hessian object that an expression in x and the array A makes."""
    x = Parameter("x", dims)
    model = Function(
        "f",
        KINDS[kind],
        (x, Parameter("A", (*dims, *dims))),
        ("x",),
        (),
        body(returns=expression),
        order=("x", "x", "x") if kind == "order" else (),
    )
    value = np.asarray(value)
    x_value = np.zeros(value.shape[: value.ndim // 2], value.dtype)
    return getattr(load(module(model)), model.name)(x_value, value)


# The matrix


def test_a_hessian_says_what_it_is(hessian: Any) -> None:
    assert hessian.tensor_shape == hessian.shape == (4, 4)
    assert hessian.dtype == np.float64
    assert [*hessian.factors] == ["array"]
    assert hessian.structure == "dense"
    assert repr(hessian) == "<Hessian of shape (4, 4), dtype float64: dense>"


def test_products_take_the_shape_of_what_is_multiplied() -> None:
    A = RNG.normal(size=(2, 3, 2, 3))
    H = given("A.copy()", M, N, value=A)
    square = A.reshape(6, 6)
    v = RNG.normal(size=6)
    assert H.shape == (6, 6)
    assert np.allclose(H.matvec(v), square @ v)
    assert np.allclose(H @ v[:, None], (square @ v)[:, None])
    assert np.allclose(H.dot(v.reshape(2, 3)), (square @ v).reshape(2, 3))
    assert np.allclose(H @ np.eye(6)[:, :2], square[:, :2])
    with pytest.raises(ValueError, match=r"shape \(6,\) or \(6, k\) or \(2, 3\), got"):
        H.matvec(np.ones(5))


def test_a_jacobian_takes_arrays_of_the_one_shape_to_the_other() -> None:
    model = Function(
        "f",
        KINDS["jacobian"],
        (Parameter("x", (N,)), Parameter("A", (M, K, N))),
        ("x",),
        (M, K),
        body(returns="A.copy()"),
    )
    A = RNG.normal(size=(2, 3, 4))
    J = load(module(model)).f_jac(np.ones(4), A)
    matrix = A.reshape(6, 4)
    v, u = RNG.normal(size=4), RNG.normal(size=(2, 3))
    assert (J.shape, J.tensor_shape) == ((6, 4), (2, 3, 4))
    assert np.allclose(J @ v, matrix @ v)
    assert np.allclose(J @ v[:, None], (matrix @ v)[:, None])
    assert np.allclose(J.rmatvec(u), matrix.T @ u.ravel())
    assert np.allclose(J.rmatvec(u.ravel()), matrix.T @ u.ravel())
    assert not hasattr(J, "solve")


def test_a_scalar_input_has_a_hessian_of_one_entry() -> None:
    H = given("2 * A", value=3.0)
    assert (H.tensor_shape, H.shape) == ((), (1, 1))
    assert H.matvec(2.0) == 12.0
    assert H.matvec([2.0]).tolist() == [12.0]
    assert H.diagonal().shape == ()
    assert H.solve(12.0) == 2.0


def test_a_hessian_without_entries_works() -> None:
    H = given("A.copy()", N, value=np.zeros((0, 0)))
    assert H.shape == (0, 0)
    assert H.matvec(np.ones(0)).shape == H.solve(np.ones(0)).shape == (0,)
    assert [part.shape for part in H.coo()] == [(0,)] * 3
    assert H.factorize().is_posdef
    assert np.asarray(H).shape == (0, 0)


def test_coordinates_add_up_to_the_matrix(hessian: Any) -> None:
    for lower in (False, True):
        rows, columns, values = hessian.coo(lower=lower)
        matrix = np.zeros((4, 4))
        np.add.at(matrix, (rows, columns), values)
        whole = hessian.dense()
        assert (matrix == (np.tril(whole) if lower else whole)).all()


def test_numpy_converts_to_the_matrix() -> None:
    A = RNG.normal(size=(2, 3, 2, 3))
    H = given("A.copy()", M, N, value=A)
    assert (np.asarray(H) == A.reshape(6, 6)).all()
    assert np.asarray(H, dtype=np.float32).dtype == np.float32
    with pytest.raises(TypeError, match="unsupported operand"):
        np.ones(6) @ H


def test_a_matrix_of_more_than_one_gibibyte_is_not_made_by_accident() -> None:
    H = given("np.broadcast_to(A, (20000, 20000))", value=1.0)
    with pytest.raises(MemoryError, match=r"takes 3.0 GiB; call dense\(\)"):
        np.asarray(H)


def test_scipy_gets_a_linear_operator(hessian: Any) -> None:
    from scipy.sparse.linalg import cg

    solution, failed = cg(hessian.as_linear_operator(), w, rtol=1e-12)
    assert not failed
    assert np.allclose(solution, hessian.solve(w))


# What is held


def test_objects_cannot_be_changed(hessian: Any) -> None:
    with pytest.raises(AttributeError, match="a Hessian cannot be changed"):
        hessian.array = None
    with pytest.raises(ValueError, match="read-only"):
        hessian.factors["array"][0, 0] = 1
    hessian.factors.clear()
    assert hessian.factors


def test_dense_is_a_new_array(hessian: Any) -> None:
    before = hessian.dense()
    hessian.dense()[:] = np.nan
    assert (hessian.dense() == before).all()
    hessian.diagonal()[:] = np.nan
    assert (hessian.dense() == before).all()


def test_objects_can_be_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    H = load(logistic_module()).loss_hess(w, X, y)
    assert (pickle.loads(pickle.dumps(H)).dense() == H.dense()).all()


def test_single_precision_stays_single() -> None:
    args = [a.astype(np.float32) for a in (w, X, y)]
    H = load(logistic_module()).loss_hess(*args)
    H = given("A.copy()", N, value=H.dense().astype(np.float32))
    assert H.dtype == H.solve(args[0]).dtype == np.float32
    assert H.diagonal().dtype == (H @ args[0]).dtype == np.float32
    assert H.nbytes == 4 * 16


# Solving


@pytest.mark.parametrize("shift", [0.0, 2.5])
def test_a_system_is_solved_for_one_or_several_sides(
    hessian: Any, shift: float
) -> None:
    matrix = hessian.dense() + shift * np.eye(4)
    B = RNG.normal(size=(4, 3))
    assert np.allclose(matrix @ hessian.solve(w, shift=shift), w)
    assert np.allclose(matrix @ hessian.solve(B, shift=shift), B)


def test_a_right_hand_side_may_be_shaped_like_the_input() -> None:
    A = np.eye(6).reshape(2, 3, 2, 3) * 4
    H = given("A.copy()", M, N, value=A)
    assert (H.solve(np.ones((2, 3))) == 0.25).all()
    assert (H.solve(np.ones(6)) == 0.25).all()


def test_a_factorization_knows_determinant_and_definiteness(hessian: Any) -> None:
    factorization = hessian.factorize(shift=1.0)
    matrix = hessian.dense() + np.eye(4)
    assert np.isclose(factorization.logdet, np.log(np.linalg.det(matrix)))
    assert factorization.is_posdef is True
    assert hessian.factorize(shift=-1e3).is_posdef is False
    assert np.allclose(matrix @ factorization.solve(w), w)


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((3, 3)),
        np.ones((3, 3)),
        np.diag([1.0, 1.0, 1e-16]),
        np.diag([1.0, np.nan, 1.0]),
        np.diag([1.0, np.inf, 1.0]),
        np.vander(np.arange(1.0, 13.0)).T @ np.vander(np.arange(1.0, 13.0)),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_singular_system_is_refused(matrix: Any) -> None:
    H = given("A.copy()", N, value=matrix)
    with pytest.raises(np.linalg.LinAlgError):
        H.solve(np.ones(len(matrix)))


@pytest.mark.parametrize("exponent", [4, 8, 12])
def test_an_ill_conditioned_system_is_solved_as_well_as_it_can_be(
    exponent: int,
) -> None:
    Q = np.linalg.qr(RNG.normal(size=(20, 20)))[0]
    A = (Q * np.logspace(0, -exponent, 20)) @ Q.T
    A = (A + A.T) / 2
    H = given("A.copy()", N, value=A)
    b = A @ np.ones(20)
    assert np.allclose(H.solve(b), 1, atol=10**exponent * 1e-14)
    assert np.allclose(A @ H.solve(b), b, rtol=0, atol=1e-14)


# Several inputs


def whole(fit: ModuleType) -> Any:
    dense = fit.fit_hess_dense(T, U, V)
    rows = []
    for a, x in (("U", U), ("V", V)):
        row = [dense[a, b].reshape(x.size, -1) for b in ("U", "V")]
        rows.append(np.hstack(row))
    return np.vstack(rows)


def test_dense_blocks_are_the_derivatives_of_the_gradient(fit: ModuleType) -> None:
    dense = fit.fit_hess_dense(T, U, V)
    assert [*dense] == [("U", "U"), ("U", "V"), ("V", "U"), ("V", "V")]
    step = 1e-6
    for k, x in enumerate((U, V)):
        dx = np.zeros_like(x)
        dx[1, 1] = step
        moved = [U, V]
        moved[k] = x + dx
        change = fit.fit_grad(T, *moved).U - fit.fit_grad(T, U, V).U
        assert np.allclose(change / step, dense["U", "UV"[k]][:, :, 1, 1], atol=1e-4)
    assert np.array_equal(dense["U", "V"].transpose(2, 3, 0, 1), dense["V", "U"])


def test_a_joint_hessian_is_the_matrix_of_its_blocks(fit: ModuleType) -> None:
    H, matrix = fit.fit_hess(T, U, V), whole(fit)
    assert H.shape == H.tensor_shape == matrix.shape == (14, 14)
    assert (H.dense() == matrix).all()
    assert (np.asarray(H) == matrix).all()
    assert (H.diagonal() == np.diagonal(matrix)).all()
    v = RNG.normal(size=14)
    assert np.allclose(H @ v, matrix @ v)
    assert np.allclose(H.matvec(v[:, None]), (matrix @ v)[:, None])
    assert np.allclose(H.rmatvec(v), matrix @ v)
    shifted = matrix + 100 * np.eye(14)
    assert np.allclose(H.solve(v, shift=100), np.linalg.solve(shifted, v))


def test_a_joint_hessian_holds_each_pair_once(fit: ModuleType) -> None:
    H = fit.fit_hess(T, U, V)
    assert [*H.pairs] == [*pairs(("U", "V"))]
    assert H.nbytes == 8 * (8 * 8 + 8 * 6 + 6 * 6)
    assert len({id(a) for a in H.factors.values()}) == len(H.factors) == 3
    dense = fit.fit_hess_dense(T, U, V)
    for pair, block in dense.items():
        assert (H.blocks[pair].dense() == block).all()
        assert H.blocks[pair].tensor_shape == block.shape


def test_gradients_and_cotangents_have_one_field_an_input(fit: ModuleType) -> None:
    gradient = fit.fit_grad(T, U, V)
    assert type(gradient).__name__ == "FitGradient"
    assert gradient._fields == ("U", "V")
    value, pulled = fit.fit_vjp(T, U, V, 2.0)
    assert value == fit.fit(T, U, V)
    assert np.allclose(pulled.U, 2 * gradient.U)
    assert np.allclose(pulled.V, 2 * gradient.V)


def test_products_with_directions_agree_with_the_matrix(fit: ModuleType) -> None:
    dU, dV = RNG.normal(size=U.shape), RNG.normal(size=V.shape)
    d = np.concatenate([dU.ravel(), dV.ravel()])
    product = fit.fit_hvp(T, U, V, dU, dV)
    flat = np.concatenate([product.U.ravel(), product.V.ravel()])
    assert np.allclose(flat, whole(fit) @ d)
    gradient = fit.fit_grad(T, U, V)
    slope = np.vdot(gradient.U, dU) + np.vdot(gradient.V, dV)
    assert np.allclose(fit.fit_jvp(T, U, V, dU=dU, dV=dV)[1], slope)


def test_jacobians_of_several_inputs_have_one_field_an_input(fit: ModuleType) -> None:
    J, dense = fit.fit_jac(T, U, V), fit.fit_jac_dense(T, U, V)
    assert (J.U.dense() == dense.U).all()
    assert J.V.shape == (1, 6)
    assert J.V.matvec(V).shape == ()


def test_value_gradient_and_hessian_come_together(fit: ModuleType) -> None:
    value, gradient, H = fit.fit_value_grad_hess(T, U, V)
    assert value == fit.fit(T, U, V)
    assert (gradient.V == fit.fit_grad(T, U, V).V).all()
    assert (H.dense() == fit.fit_hess(T, U, V).dense()).all()


# Higher orders


def test_a_third_derivative_is_contracted_with_directions() -> None:
    # The third derivative of sum(x**3) scaled by a: 6 a on the diagonal.
    model = Function(
        "f",
        KINDS["order"],
        (Parameter("x", (N,)), Parameter("a", (N,))),
        ("x",),
        (),
        body(
            "H = np.zeros((n, n, n))",
            "H[range(n), range(n), range(n)] = 6 * a",
            returns="H",
            dims="n",
        ),
        order=("x", "x", "x"),
    )
    a, u, v, z = RNG.normal(size=(4, 5))
    D = load(module(model)).f_d3(np.ones(5), a)
    assert D.tensor_shape == D.dense().shape == (5, 5, 5)
    assert D.nbytes == 8 * 125
    assert D.structure == "dense"
    assert np.allclose(D.contract(u), np.diag(6 * a * u))
    assert np.allclose(D.contract(u, v), 6 * a * u * v)
    assert np.allclose(D.contract(u, v, z), (6 * a * u * v * z).sum())
    for wrong in ((), (u, u, u, u), (u[1:],)):
        with pytest.raises(ValueError, match="expected"):
            D.contract(*wrong)


def test_a_mixed_derivative_is_contracted_from_its_last_input() -> None:
    x, B = Parameter("x", (N,)), Parameter("B", (M, K))
    model = Function(
        "f",
        KINDS["mixed"],
        (x, B, Parameter("A", (N, M, K))),
        ("x", "B"),
        (),
        body(returns="A.copy()"),
        order=("x", "B"),
    )
    A, d = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(3, 4))
    D = load(module(model)).f_d_x_B(np.ones(2), np.ones((3, 4)), A)
    expected = np.einsum("nmk,mk->n", A, d)
    assert np.allclose(D.contract(d), expected)
    assert np.allclose(D.contract(d.ravel()), expected)
    assert np.allclose(D.contract([1.0, 2.0], d), expected @ [1, 2])
