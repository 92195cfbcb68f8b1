"""Models that step through time: value and gradient, beside code by hand and JAX.

By hand states are stored and adjoints run backwards over them; what does not wait for a
state is computed for all steps at once. JAX differentiates `lax.scan`, compiled.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import report
from scipy.signal import lfilter

import tensorgen

Array = Any
SPEC = """
tensorgen: 1
module: recurrences
dims: {K: 50, N: 10000, n: 8, p: 2, T: 2000, D: 128, q: 128, S: 100}
inputs:
  logA: [K, K]
  logpi: [K]
  E: [N, K]
  A: [n, n]
  H: [p, n]
  Q: {shape: [n, n], spd: true}
  R: {shape: [p, p], spd: true}
  m0: [n]
  P0: {shape: [n, n], spd: true}
  y: [T, p]
  r: [N]
  omega: scalar
  alpha: scalar
  beta: scalar
  W: [4, D, q]
  U: [4, D, D]
  b: [4, D]
  x: [S, q]
  v: [D]
functions:
  hmm:
    where: |
      s[0, k] = logpi[k] + E[0, k]
      s[t + 1, k] = E[t + 1, k] + logsumexp(s[t, j] + logA[j, k], j)
    expr: logsumexp(s[N - 1, k], k)
    wrt: [logA, E]
    emit: [value, gradient]
  kalman:
    where: |
      m[0] = m0
      P[0] = P0
      C[t] = spd(H @ P[t] @ H.T + R)
      e[t] = y[t] - H @ m[t]
      G[t] = P[t] @ H.T @ inv(C[t])
      m[t + 1] = A @ (m[t] + G[t] @ e[t])
      P[t + 1] = A @ (P[t] - G[t] @ H @ P[t]) @ A.T + Q
      l[t] = logdet(C[t]) + e[t] @ solve(C[t], e[t])
    expr: sum(l)/2
    wrt: [A, Q, R]
    emit: [value, gradient]
  garch:
    where: |
      h[0] = mean(r**2)
      h[t + 1] = omega + alpha*r[t]**2 + beta*h[t]
    expr: sum(log(h[:-1]) + r**2/h[:-1])/2
    wrt: [omega, alpha, beta]
    emit: [value, gradient]
  lstm:
    where: |
      h[0] = zeros(D)
      c[0] = zeros(D)
      i[t] = sigmoid(W[0] @ x[t] + U[0] @ h[t] + b[0])
      f[t] = sigmoid(W[1] @ x[t] + U[1] @ h[t] + b[1])
      o[t] = sigmoid(W[2] @ x[t] + U[2] @ h[t] + b[2])
      g[t] = tanh(W[3] @ x[t] + U[3] @ h[t] + b[3])
      c[t + 1] = f[t]*c[t] + i[t]*g[t]
      h[t + 1] = o[t]*tanh(c[t + 1])
    expr: dot(v, h[S])
    wrt: [W, U, b]
    emit: [value, gradient]
"""


def hmm(logA: Array, logpi: Array, E: Array) -> Any:
    """Forward sums, and backwards the posterior of each step."""
    N, K = E.shape
    s = np.empty((N, K))
    s[0] = logpi + E[0]
    for t in range(N - 1):
        z = s[t][:, None] + logA
        top = z.max(axis=0)
        s[t + 1] = E[t + 1] + top + np.log(np.exp(z - top).sum(axis=0))
    top = s[-1].max()
    value = top + np.log(np.exp(s[-1] - top).sum())
    d = np.empty((N, K))
    d[-1] = np.exp(s[-1] - value)
    slope = np.zeros((K, K))
    for t in range(N - 2, -1, -1):
        share = np.exp(s[t][:, None] + logA - (s[t + 1] - E[t + 1]))
        share *= d[t + 1]
        slope += share
        d[t] = share.sum(axis=1)
    return value, (slope, d)


def kalman(
    A: Array, H: Array, Q: Array, R: Array, m0: Array, P0: Array, y: Array
) -> Any:
    """The filter, and its adjoint step by step."""
    T = len(y)
    ms, Ps, Gs, es, Is = [], [], [], [], []
    m, P, total = m0, P0, 0.0
    for t in range(T):
        PH = P @ H.T
        C = H @ PH + R
        inverse = np.linalg.inv(C)
        e, G = y[t] - H @ m, PH @ inverse
        ms.append(m)
        Ps.append(P)
        Gs.append(G)
        es.append(e)
        Is.append(inverse)
        total += np.linalg.slogdet(C)[1] + e @ inverse @ e
        m = A @ (m + G @ e)
        P = A @ (P - G @ PH.T) @ A.T + Q
    dm, dP = np.zeros_like(m0), np.zeros_like(P0)
    dA, dQ, dR = np.zeros_like(A), np.zeros_like(Q), np.zeros_like(R)
    for t in range(T - 1, -1, -1):
        m, P, G, e, inverse = ms[t], Ps[t], Gs[t], es[t], Is[t]
        HP = H @ P
        after = P - G @ HP
        dQ += dP
        dA += np.outer(dm, m + G @ e) + dP @ A @ after.T + dP.T @ A @ after
        back = A.T @ dP @ A
        du = A.T @ dm
        dG = np.outer(du, e) - back @ HP.T
        w = inverse @ e
        dC = (inverse - np.outer(w, w)) / 2 - G.T @ dG @ inverse
        dR += dC
        de = w + G.T @ du
        dP = back - H.T @ (G.T @ back) + dG @ inverse @ H + H.T @ dC @ H
        dm = du - H.T @ de
    return total / 2, (dA, dQ, dR)


def garch(r: Array, omega: float, alpha: float, beta: float) -> Any:
    """Filters, forwards and backwards."""
    square = r**2
    z = np.empty(len(r))
    z[0] = square.mean()
    z[1:] = omega + alpha * square[:-1]
    taps = np.array([1.0, -beta])
    h = lfilter(taps[:1], taps, z)
    d = (1 / h - square / h**2) / 2
    back = lfilter(taps[:1], taps, d[::-1])[::-1]
    value = (np.log(h) + square / h).sum() / 2
    tail = back[1:]
    return value, (tail.sum(), tail @ square[:-1], tail @ h[:-1])


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def lstm(W: Array, U: Array, b: Array, x: Array, v: Array) -> Any:
    """All gates in one product, and so in the adjoint."""
    _, D, q = W.shape
    S = len(x)
    stacked, turned = W.reshape(4 * D, q), U.reshape(4 * D, D)
    given = x @ stacked.T + b.ravel()
    h, c, gates = np.zeros((S + 1, D)), np.zeros((S + 1, D)), np.empty((S, 4 * D))
    for t in range(S):
        z = given[t] + turned @ h[t]
        z[: 3 * D] = _sigmoid(z[: 3 * D])
        z[3 * D :] = np.tanh(z[3 * D :])
        gates[t] = z
        i, f, o, g = z.reshape(4, D)
        c[t + 1] = f * c[t] + i * g
        h[t + 1] = o * np.tanh(c[t + 1])
    dh, dc, dz = v, np.zeros(D), np.empty((S, 4 * D))
    for t in range(S - 1, -1, -1):
        i, f, o, g = gates[t].reshape(4, D)
        tanh = np.tanh(c[t + 1])
        dc = dc + dh * o * (1 - tanh**2)
        dz[t, :D] = dc * g * i * (1 - i)
        dz[t, D : 2 * D] = dc * c[t] * f * (1 - f)
        dz[t, 2 * D : 3 * D] = dh * tanh * o * (1 - o)
        dz[t, 3 * D :] = dc * i * (1 - g**2)
        dh, dc = turned.T @ dz[t], dc * f
    slopes = (dz.T @ x).reshape(W.shape), (dz.T @ h[:-1]).reshape(U.shape)
    return v @ h[-1], (*slopes, dz.sum(axis=0).reshape(b.shape))


def peers(given: dict[str, dict[str, Array]]) -> dict[str, Callable[[], Any]]:
    """The same functions for JAX, compiled; none where it is not installed."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return {}
    jax.config.update("jax_enable_x64", True)

    def hmm(logA: Array, E: Array, logpi: Array) -> Array:
        def step(s: Array, row: Array) -> tuple[Array, None]:
            return row + jax.nn.logsumexp(s[:, None] + logA, axis=0), None

        last, _ = jax.lax.scan(step, logpi + E[0], E[1:])
        return jax.nn.logsumexp(last)

    def kalman(
        A: Array, Q: Array, R: Array, H: Array, m0: Array, P0: Array, y: Array
    ) -> Array:
        def step(state: Any, row: Array) -> Any:
            m, P = state
            C, e = H @ P @ H.T + R, row - H @ m
            inverse = jnp.linalg.inv(C)
            G = P @ H.T @ inverse
            term = jnp.linalg.slogdet(C)[1] + e @ inverse @ e
            return (A @ (m + G @ e), A @ (P - G @ H @ P) @ A.T + Q), term

        return jax.lax.scan(step, (m0, P0), y)[1].sum() / 2

    def garch(omega: Array, alpha: Array, beta: Array, r: Array) -> Array:
        def step(h: Array, square: Array) -> Any:
            return omega + alpha * square + beta * h, h

        _, h = jax.lax.scan(step, jnp.mean(r**2), r**2)
        return (jnp.log(h) + r**2 / h).sum() / 2

    def lstm(W: Array, U: Array, b: Array, x: Array, v: Array) -> Array:
        def step(state: Any, row: Array) -> Any:
            h, c = state
            i, f, o, g = W @ row + U @ h + b
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        zero = jnp.zeros_like(v)
        (h, _), _ = jax.lax.scan(step, (zero, zero), x)
        return v @ h

    slopes = {"hmm": 2, "kalman": 3, "garch": 3, "lstm": 3}
    found: dict[str, Callable[[], Any]] = {}
    for function in (hmm, kalman, garch, lstm):
        name = function.__name__
        wrt = tuple(range(slopes[name]))
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        args = [jnp.asarray(given[name][x]) for x in names]
        run = jax.jit(jax.value_and_grad(function, argnums=wrt))
        found[name] = partial(_ready, run, args)
    return found


def _ready(run: Callable[..., Any], args: list[Array]) -> Any:
    value, slopes = run(*args)
    return float(value), [np.asarray(x) for x in slopes]


def arguments() -> dict[str, dict[str, Array]]:
    """What each function is given."""
    rng = np.random.default_rng(0)

    def logs(*shape: int) -> Array:
        x = rng.normal(size=shape)
        return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))

    K, N, n, p, T, D, q, S = 50, 10_000, 8, 2, 2000, 128, 128, 100
    turn, _ = np.linalg.qr(rng.normal(size=(n, n)))
    return {
        "hmm": {"logA": logs(K, K), "logpi": logs(K), "E": rng.normal(size=(N, K))},
        "kalman": {
            "A": 0.95 * turn,
            "H": rng.normal(size=(p, n)),
            "Q": 0.1 * np.eye(n),
            "R": np.eye(p),
            "m0": np.zeros(n),
            "P0": np.eye(n),
            "y": rng.normal(size=(T, p)),
        },
        "garch": {"r": rng.normal(size=N), "omega": 0.1, "alpha": 0.1, "beta": 0.8},
        "lstm": {
            "W": rng.normal(size=(4, D, q)) / 12,
            "U": rng.normal(size=(4, D, D)) / 12,
            "b": rng.normal(size=(4, D)),
            "x": rng.normal(size=(S, q)),
            "v": rng.normal(size=D),
        },
    }


HAND: dict[str, Callable[..., Any]] = {
    "hmm": hmm,
    "kalman": kalman,
    "garch": garch,
    "lstm": lstm,
}


def main() -> None:
    """Measure, and write the table."""
    module: Any = tensorgen.load(SPEC)
    given = arguments()
    others = peers(given)
    lines = report.machine("numpy", "scipy", *(["jax"] if others else []))
    lines += [
        "",
        "milliseconds, medians of 7 rounds that take turns; value and gradient",
        "",
        f"{'case':<10}{'ours':>10}{'by hand':>10}{'ratio':>8}{'jax':>10}",
    ]
    for name, arrays in given.items():
        ours = partial(getattr(module, f"{name}_value_and_grad"), **arrays)
        calls: list[Callable[[], Any]] = [ours, partial(HAND[name], **arrays)]
        calls += [others[name]] if name in others else []
        value, slopes = calls[1]()
        for call in calls:  # JAX compiles now
            found = call()
            np.testing.assert_allclose(found[0], value, rtol=1e-9)
            for one, other in zip(found[1], slopes, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)
        times = list(
            map(
                _median,
                zip(*([report.timed(c) for c in calls] for _ in range(7)), strict=True),
            )
        )
        text = (
            f"{name:<10}{times[0]:>10.2f}{times[1]:>10.2f}{times[0] / times[1]:>8.2f}"
        )
        lines.append(text + "".join(f"{x:>10.2f}" for x in times[2:]))
    report.write("recurrences.txt", lines)


def _median(times: tuple[float, ...]) -> float:
    return 1000 * report.spread(times)[0]


if __name__ == "__main__":
    main()
