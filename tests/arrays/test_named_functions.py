"""What has a name and stands several times in a module is one function."""

from __future__ import annotations

import numpy as np

from tests.made import functions, generate, load

RING = """
tensorgen: 1
dims: {n: 50}
inputs: {U: [n, 2], D: [2], a: scalar, b: scalar}
functions:
  rhs:
    where: |
      x = U[:, 0]
      y = U[:, 1]
      reaction = stack([a - (b + 1)*x + x**2*y, b*x - x**2*y], axis=1)
      exchange = roll(U, 1, axis=0) - 2*U + roll(U, -1, axis=0)
    expr: reaction + D*exchange
    wrt: U
    emit: [value, jvp, vjp]
"""
TURNED = """
tensorgen: 1
dims: {T: 20, d: 12, c: 4}
inputs: {Q: [d, 2*c], K: [d, 2*c], X: [T, d], f: [c]}
definitions: |
  co = cos(arange(T)[:, None]*f)
  si = sin(arange(T)[:, None]*f)
  turn(u, v) = concatenate([u*co - v*si, u*si + v*co], axis=1)
functions:
  score:
    where: |
      q = turn((X @ Q)[:, :c], (X @ Q)[:, c:])
      k = turn((X @ K)[:, :c], (X @ K)[:, c:])
    expr: q @ k.T
  spread:
    where: |
      q = turn((X @ Q)[:, :c], (X @ Q)[:, c:])
      k = turn((X @ K)[:, :c], (X @ K)[:, c:])
    expr: sum(exp(q)*tanh(k))
"""
BLIND = """
tensorgen: 1
dims: {n: 60, p: 7}
inputs: {x: [n], h: [p], y: [n - p + 1], lam: scalar, eps: scalar}
functions:
  loss:
    where: |
      jump = x[1:] - x[:n - 1]
      blurred[i] = sum(h[j]*x[i + p - 1 - j], j)
    expr: sum((blurred - y)**2)/2 + lam*sum(sqrt(jump**2 + eps**2))
    wrt: [x, h]
    emit: [value, gradient, hvp]
"""


def test_an_operator_and_its_tangent_are_one_function() -> None:
    found = functions(generate(RING))
    assert "exchange[1:] += U[:-1]" in found["_exchange"]
    assert "exchange_dot = _exchange(dU)" in found["rhs_jvp"]
    assert sum("exchange[1:] +=" in code for code in found.values()) == 1


def test_a_value_is_one_function_with_its_products() -> None:
    found = functions(generate(RING))
    for name in ("rhs", "rhs_jvp", "rhs_vjp"):
        assert "_rhs_value(U, D, a, b)" in found[name]
    assert sum("reaction[:, 0]" in code for code in found.values()) == 1


def test_products_are_those_of_differences() -> None:
    module, rng = load(RING), np.random.default_rng(5)
    (U, dU, ct), D = rng.normal(size=(3, 6, 2)), np.array([0.1, 0.2])
    above, below = (module.rhs(U + s * dU, D, 1.0, 3.0) for s in (1e-6, -1e-6))
    slope = (above - below) / 2e-6
    value, tangent = module.rhs_jvp(U, D, 1.0, 3.0, dU)
    np.testing.assert_allclose(tangent, slope, rtol=1e-7, atol=1e-8)
    other, cotangent = module.rhs_vjp(U, D, 1.0, 3.0, ct)
    np.testing.assert_array_equal(value, other)
    np.testing.assert_allclose(np.vdot(cotangent, dU), np.vdot(ct, slope), rtol=1e-7)


def test_what_a_definition_makes_is_called_after_it() -> None:
    found = functions(generate(TURNED))
    assert "np.concatenate" in found["_turn"]
    for name in ("score", "spread"):
        assert found[name].count("_turn(") == 2 and "concatenate" not in found[name]


def test_factors_in_another_order_are_the_same_code() -> None:
    module, rng = load(TURNED), np.random.default_rng(7)
    Q, K = rng.normal(size=(2, 3, 4))
    X, f = rng.normal(size=(5, 3)), rng.normal(size=2)
    phase = np.outer(np.arange(5), f)

    def turned(z: np.ndarray) -> np.ndarray:
        u, v = z[:, :2], z[:, 2:]
        c, s = np.cos(phase), np.sin(phase)
        return np.concatenate([u * c - v * s, u * s + v * c], axis=1)

    q, k = turned(X @ Q), turned(X @ K)
    np.testing.assert_allclose(module.score(Q, K, X, f), q @ k.T, rtol=1e-12)
    np.testing.assert_allclose(
        module.spread(Q, K, X, f), (np.exp(q) * np.tanh(k)).sum()
    )


def test_products_with_the_hessian_count_where_code_is_shared() -> None:
    found = functions(generate(BLIND))
    for name in ("loss", "loss_value_and_grad", "loss_hvp"):
        assert "_loss_parts(x, h, y, eps)" in found[name]


def test_little_that_is_said_again_stays_where_it_is() -> None:
    text = """
tensorgen: 1
inputs: {x: [n], y: [n]}
functions:
  f: {where: 'z = exp(x) + y', expr: sum(z**2)}
  g: {where: 'z = exp(x) + y', expr: sum(log(z))}
"""
    assert "_z(" not in generate(text)


def test_a_definition_of_arguments_of_two_shapes_is_one_function() -> None:
    text = """
tensorgen: 1
dims: {n: 30, k: 5}
inputs: {t: [n], later: [k], y: [n], h: [3]}
definitions: |
  kernel(d) = exp(h[0] - exp(h[1])*d**2) + exp(h[2])*sin(d)**2/(1 + d**2)
functions:
  f:
    where: |
      S = kernel(t[:, None] - t) + eye(n)
      cross = kernel(later[:, None] - t)
    expr: cross @ solve(S, y)
"""
    found = functions(generate(text))
    assert [name for name in found if name.startswith("_kernel")] == ["_kernel"]
    assert found["f"].count("_kernel(") == 2
