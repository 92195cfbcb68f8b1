"""Definitions by steps, and the loops that they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
SIZES = {"T": 6, "n": 3, "k": 2, "p": 2, "K": 3, "S": 2, "D": 3}
SHAPES: dict[str, tuple[str, ...]] = {
    **{"A": ("n", "n"), "B": ("n", "k"), "u": ("T", "k"), "x0": ("n",), "g": ("n",)},
    **{"phi": (), "theta": (), "y": ("T",), "z": ("T", "p"), "H": ("p", "n")},
    **{
        "Q": ("n", "n"),
        "R": ("p", "p"),
        "P0": ("n", "n"),
        "a": ("S",),
        "w": ("S", "T"),
    },
    **{"L": ("K", "K"), "E": ("T", "K"), "c": ("K",), "v": ("D",), "b": ("D",)},
    **{"U": ("4", "D", "D"), "C": ("4", "D", "k"), "M": ("T", "n", "n")},
}


@dataclass(frozen=True)
class Case:
    """A function as definitions by steps, and as a loop."""

    name: str
    where: str
    expr: str
    wrt: tuple[str, ...]
    loop: Callable[..., Array]
    second: bool = True
    hessian: bool = False

    @property
    def used(self) -> list[str]:
        """The inputs."""
        words = re.findall(r"[A-Za-z_]\w*", self.where + " " + self.expr)
        return [name for name in SHAPES if name in words]

    @property
    def text(self) -> str:
        """The spec."""
        inputs = ", ".join(f"{x}: [{', '.join(SHAPES[x])}]" for x in self.used)
        lines = self.where.strip().replace("\n", "\n      ")
        emit = "value, gradient" + ", hvp" * self.second + ", hessian" * self.hessian
        return (
            f"tensorgen: 1\ninputs: {{{inputs}}}\nfunctions:\n  fun:\n    where: |\n"
            f"      {lines}\n    expr: {self.expr}\n    wrt: [{', '.join(self.wrt)}]\n"
            f"    emit: [{emit}]\n"
        ).replace(": []", ": scalar")


def rnn(A: Array, B: Array, u: Array, x0: Array) -> Array:
    x = [x0]
    for row in u:
        x.append(np.tanh(A @ x[-1] + B @ row))
    return np.array(x)


def arma(y: Array, phi: Array, theta: Array) -> Array:
    e = [y[0]]
    for t in range(1, len(y)):
        e.append(y[t] - phi * y[t - 1] - theta * e[-1])
    return np.array(e)


def garch(y: Array, phi: Array, theta: Array) -> Array:
    h, e = [1.0 + 0 * phi], [y[0] - phi]
    for t in range(1, len(y)):
        h.append(theta**2 + 0.3 * e[-1] ** 2 + 0.5 * h[-1])
        e.append(y[t] - phi * np.sqrt(h[t]))
    return sum(np.log(v) + x**2 / v for v, x in zip(h, e, strict=True))


def filtered(y: Array, phi: Array, theta: Array) -> Array:
    m, P, total = 0.0, phi, 0.0
    for row in y:
        gain = P / (P + theta**2)
        m, P = m + gain * (row - m), P * (1 - gain) + 0.1
        total = total + m**2
    return total


def in_turn(y: Array, phi: Array) -> Array:
    s, r = [phi], [2 * phi]
    for row in y:
        s.append(0.5 * s[-1] + row * r[-1])
        r.append(np.tanh(r[-1] - s[-1] ** 2))
    return np.array(r)


def kalman(
    A: Array, H: Array, Q: Array, R: Array, x0: Array, P0: Array, z: Array
) -> Array:
    m, P, total = x0, P0, 0.0
    for row in z:
        S, e = H @ P @ H.T + R, row - H @ m
        K = P @ H.T @ np.linalg.inv(S)
        total = total + np.log(np.linalg.det(S)) + e @ np.linalg.solve(S, e)
        m, P = A @ (m + K @ e), A @ (P - K @ H @ P) @ A.T + Q
    return total / 2


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def lstm(C: Array, U: Array, u: Array, b: Array, v: Array) -> Array:
    h, c = 0 * b, b
    for x in u:
        i, f, o = (sigmoid(C[k] @ x + U[k] @ h) for k in range(3))
        c = f * c + i * np.tanh(C[3] @ x + U[3] @ h)
        h = o * np.tanh(c)
    return v @ h


def forward(L: Array, E: Array, c: Array) -> Array:
    a = c + E[0]
    for row in E[1:]:
        a = row + np.log(np.exp(a[:, None] + L).sum(axis=0))
    return np.log(np.exp(a).sum())


def each(a: Array, w: Array) -> Array:
    s = [np.array([0.5, -1.0])]
    for row in w.T:
        s.append(np.sin(a * s[-1]) + row**2)
    return np.array(s).T


def backwards(A: Array, y: Array, g: Array) -> Array:
    v = [g]
    for t in range(len(y), 0, -1):
        v.append(np.tanh(A @ v[-1]) + y[t - 1])
    return np.array(v[::-1])


def lags(y: Array, phi: Array, theta: Array) -> Array:
    u = [y[0], y[1]]
    for t in range(2, len(y)):
        u.append(phi * np.sin(u[-1]) + theta * u[-2] + y[t])
    return np.array(u)


def late(y: Array, phi: Array, theta: Array) -> Array:
    u = [y[-1], y[-2]]
    for t in range(len(y) - 3, -1, -1):
        u.append(phi * np.sin(u[-1]) + theta * u[-2] + y[t])
    return np.array(u[::-1])


def clock(phi: Array, y: Array) -> Array:
    w = phi
    for t in range(len(y)):
        w = w + (t + 1) * np.sin(w) * y[t]
    return w


def entries(A: Array, x0: Array, y: Array) -> Array:
    x = [x0]
    for t in range(len(y)):
        x.append(
            np.array([np.sin(sum(A[i] * x[-1])) + i * y[t] for i in range(len(x0))])
        )
    return np.array(x)


def swap(phi: Array, theta: Array, y: Array) -> Array:
    p, q = phi, theta
    for t in range(len(y)):
        p, q = q, p * y[t] + q**2
    return p * q


def nested(A: Array, x0: Array, y: Array, phi: Array) -> Array:
    total = x0
    for t in range(len(y)):
        total = phi * total + A @ np.sin(total) * y[t]
    return total


def gains(A: Array, x0: Array, y: Array) -> Array:
    x = x0
    for t in range(len(y)):
        x = (x**2).sum() * x + (A @ x) * y[t]
    return x


def varying(M: Array, x0: Array) -> Array:
    x = x0
    for matrix in M:
        x = np.tanh(matrix @ x)
    return x


def squares(loop: Callable[..., Array]) -> Callable[..., Array]:
    return lambda **given: (loop(**given) ** 2).sum()


def midpoint(A: Array, x0: Array, y: Array, theta: Array) -> Array:
    x = [x0]
    for t in range(1, len(y)):
        half = A @ (x[-1] + theta * np.tanh(A @ x[-1])) * y[t - 1]
        x.append(x[-1] + t * theta * half * y[t])
    return np.array(x)


def of_two_slopes(A: Array, x0: Array, g: Array, theta: Array, y: Array) -> Array:
    x = [x0, x0 + theta * g]
    for t in range(2, len(y)):
        one, other = (np.tanh(A @ v) for v in (x[-1], x[-2]))
        x.append(x[-1] + theta * y[t] * (1.5 * one - 0.5 * other))
    return np.array(x)


STEPS = "x[0] = x0\nx[t + 1] = tanh(A @ x[t] + B @ u[t])"
CASES = (
    Case("rnn", STEPS, "sum(x**2)", ("A", "x0", "u"), squares(rnn)),
    Case("last", STEPS, "norm(x[T])**2", ("x0",), squares(lambda **k: rnn(**k)[-1])),
    Case(
        "entry", STEPS, "x[2, 1]*x[T, 0]", ("x0", "B"),
        lambda **k: rnn(**k)[2, 1] * rnn(**k)[-1, 0],
        hessian=True,
    ),
    Case(
        "arma", "e[0] = y[0]\ne[t] = y[t] - phi*y[t - 1] - theta*e[t - 1]",
        "sum(e**2)", ("phi", "theta"), squares(arma),
        hessian=True,
    ),
    Case(
        "entries of which one step lacks the first",
        "h[0] = 1\ne[t] = y[t] - phi*sqrt(h[t])\n"
        "h[t] = theta**2 + 0.3*e[t - 1]**2 + 0.5*h[t - 1]",
        "sum(log(h) + e**2/h)", ("phi", "theta"), garch,
        hessian=True,
    ),
    Case(
        "what nothing but the steps reads",
        "x[0] = x0\nk[t] = tanh(A @ x[t])\nm[t] = A @ (x[t] + theta*k[t])*y[t]\n"
        "x[t=range(1, T)] = x[t - 1] + t*theta*m[t - 1]*y[t]",
        "sum(x**2)", ("A", "x0", "y", "theta"), squares(midpoint),
        hessian=True,
    ),
    Case(
        "what nothing but the steps reads, of the step before too",
        "x[0] = x0\nx[1] = x0 + theta*g\nk[t] = tanh(A @ x[t])\n"
        "x[t=range(2, T)] = x[t - 1] + theta*y[t]*(1.5*k[t - 1] - 0.5*k[t - 2])",
        "sum(x**2)", ("A", "x0", "theta"), squares(of_two_slopes),
    ),
    Case(
        "a range that readers have",
        "P[0] = phi\nG[t] = P[t]/(P[t] + theta**2)\nP[t + 1] = P[t]*(1 - G[t]) + 0.1\n"
        "m[0] = 0\nm[t + 1] = m[t] + G[t]*(y[t] - m[t])",
        "sum(m**2)", ("phi", "theta"), filtered,
    ),
    Case(
        "two indices, and a start of another start",
        "s[0] = phi\nr[0] = 2*s[0]\ns[t + 1] = 0.5*s[t] + y[t]*r[t]\n"
        "r[k + 1] = tanh(r[k] - s[k + 1]**2)",
        "sum(r**2)", ("phi", "y"), squares(in_turn),
        hessian=True,
    ),
    Case(
        "stated",
        "e[0] = y[0]\ne[t=range(1, T)] = y[t] - phi*y[t - 1] - theta*e[t - 1]",
        "sum(e**2)", ("y", "theta"), squares(arma),
    ),
    Case(
        "kalman",
        "m[0] = x0\nP[0] = P0\nS[t] = H @ P[t] @ H.T + R\ne[t] = z[t] - H @ m[t]\n"
        "G[t] = P[t] @ H.T @ inv(S[t])\nm[t + 1] = A @ (m[t] + G[t] @ e[t])\n"
        "P[t + 1] = A @ (P[t] - G[t] @ H @ P[t]) @ A.T + Q\n"
        "l[t] = logdet(S[t]) + e[t] @ solve(S[t], e[t])",
        "sum(l)/2", ("A", "R"), kalman, second=False,
    ),
    Case(
        "lstm",
        "h[0] = 0*b\nm[0] = b\ni[t] = sigmoid(C[0] @ u[t] + U[0] @ h[t])\n"
        "f[t] = sigmoid(C[1] @ u[t] + U[1] @ h[t])\n"
        "o[t] = sigmoid(C[2] @ u[t] + U[2] @ h[t])\n"
        "m[t + 1] = f[t]*m[t] + i[t]*tanh(C[3] @ u[t] + U[3] @ h[t])\n"
        "h[t + 1] = o[t]*tanh(m[t + 1])",
        "dot(v, h[T])", ("U", "b"), lstm, second=False,
    ),
    Case(
        "forward", "s[0, k] = c[k] + E[0, k]\n"
        "s[t + 1, k] = E[t + 1, k] + logsumexp(s[t, j] + L[j, k], j)",
        "logsumexp(s[T - 1, k], k)", ("L", "c"), forward,
        hessian=True,
    ),
    Case(
        "forward_arrays", "s[0] = c + E[0]\n"
        "s[t, :] = E[t] + logsumexp(s[t - 1][:, None] + L, axis=0)",
        "logsumexp(s[T - 1])", ("L", "E"), forward,
    ),
    Case(
        "each", "s[i=range(S), 0] = 1/2 - 3*i/2\n"
        "s[i, t + 1] = sin(a[i]*s[i, t]) + w[i, t]**2",
        "sum(s**3)", ("a", "w"), lambda **k: (each(**k) ** 3).sum(),
    ),
    Case(
        "backwards", "r[T] = g\nr[t - 1] = tanh(A @ r[t]) + y[t - 1]",
        "sum(r**2)", ("A", "y"), squares(backwards),
    ),
    Case(
        "lags", "r[0] = y[0]\nr[1] = y[1]\n"
        "r[t + 2] = phi*sin(r[t + 1]) + theta*r[t] + y[t + 2]",
        "sum(r**2)", ("phi", "theta", "y"), squares(lags),
    ),
    Case(
        "late", "r[T - 1] = y[T - 1]\nr[T - 2] = y[T - 2]\n"
        "r[t] = phi*sin(r[t + 1]) + theta*r[t + 2] + y[t]",
        "sum(r**2)", ("phi", "theta", "y"), squares(late),
        hessian=True,
    ),
    Case(
        "clock", "r[0] = phi\nr[t + 1] = r[t] + (t + 1)*sin(r[t])*y[t]",
        "r[T]", ("phi", "y"), clock,
    ),
    Case(
        "entries", "x[0] = x0\nx[t + 1, i] = sin(sum(A[i, j]*x[t, j], j)) + i*y[t]",
        "sum(x**2)", ("A", "x0"), squares(entries),
    ),
    Case(
        "swap", "p[0] = phi\nq[0] = theta\np[t + 1] = q[t]\n"
        "q[t + 1] = p[t]*y[t] + q[t]**2",
        "p[T]*q[T]", ("phi", "theta", "y"), swap,
    ),
    Case(
        "rows_of_matrices", "x[0] = x0\nx[t + 1] = tanh(M[t] @ x[t])",
        "sum(x[T])", ("M", "x0"), lambda **k: varying(**k).sum(),
    ),
    Case(
        "gains",
        "x[0] = x0\nq[t] = sum(x[t]**2)\nx[t + 1] = q[t]*x[t] + (A @ x[t])*y[t]",
        "sum(x[T])", ("A", "x0"), lambda **k: gains(**k).sum(),
    ),
    Case(
        "later", STEPS, "sum(x[1:]**2) + dot(x[T], g)", ("x0", "u"),
        lambda g, **k: (rnn(**k)[1:] ** 2).sum() + rnn(**k)[-1] @ g,
    ),
    Case(
        "residuals", STEPS, "sum((x[1:, 0] - y)**2)", ("x0", "A"),
        lambda y, **k: ((rnn(**k)[1:, 0] - y) ** 2).sum(),
    ),
    Case(
        "differences", STEPS, "sum((x[1:] - x[:-1])**2) + dot(x[0], g)", ("x0", "A"),
        lambda g, **k: (np.diff(rnn(**k), axis=0) ** 2).sum() + rnn(**k)[0] @ g,
    ),
    Case(
        "earlier", "r[T] = g\nr[t - 1] = tanh(A @ r[t]) + y[t - 1]",
        "sum(r[:-1]**2) + sum(r[0])", ("A", "g"),
        lambda **k: (backwards(**k)[:-1] ** 2).sum() + backwards(**k)[0].sum(),
    ),
    Case(
        "factors", "x[0] = x0\nx[t + 1] = phi*x[t] + (A @ sin(x[t]))*y[t]",
        "sum(x[T]**2)", ("A", "x0", "phi"), lambda **k: (nested(**k) ** 2).sum(),
    ),
)  # fmt: skip


def given(case: Case, **sizes: int) -> dict[str, Array]:
    """Arguments of a function, of other `sizes` maybe."""
    rng = np.random.default_rng(1)
    found: dict[str, Array] = {}
    known = SIZES | sizes
    for name in case.used:
        shape = [known[x] if x in known else int(x) for x in SHAPES[name]]
        found[name] = np.array(0.5 * rng.normal(size=shape))
        if name in ("Q", "R", "P0"):
            found[name] = found[name] @ found[name].T + np.eye(len(found[name]))
    return found
