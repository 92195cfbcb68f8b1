"""Definitions by steps, against loops written by hand and complex steps of these."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.errors import SpecError
from tests.device.library import execute, stand_in

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
    hessian: bool = True

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
        emit = "value, gradient" + ", hessian, hvp" * self.hessian
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


STEPS = "x[0] = x0\nx[t + 1] = tanh(A @ x[t] + B @ u[t])"
CASES = (
    Case("rnn", STEPS, "sum(x**2)", ("A", "x0", "u"), squares(rnn)),
    Case("last", STEPS, "norm(x[T])**2", ("x0",), squares(lambda **k: rnn(**k)[-1])),
    Case(
        "entry", STEPS, "x[2, 1]*x[T, 0]", ("x0", "B"),
        lambda **k: rnn(**k)[2, 1] * rnn(**k)[-1, 0],
    ),
    Case(
        "arma", "e[0] = y[0]\ne[t] = y[t] - phi*y[t - 1] - theta*e[t - 1]",
        "sum(e**2)", ("phi", "theta"), squares(arma),
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
        "sum(l)/2", ("A", "R"), kalman, hessian=False,
    ),
    Case(
        "lstm",
        "h[0] = 0*b\nm[0] = b\ni[t] = sigmoid(C[0] @ u[t] + U[0] @ h[t])\n"
        "f[t] = sigmoid(C[1] @ u[t] + U[1] @ h[t])\n"
        "o[t] = sigmoid(C[2] @ u[t] + U[2] @ h[t])\n"
        "m[t + 1] = f[t]*m[t] + i[t]*tanh(C[3] @ u[t] + U[3] @ h[t])\n"
        "h[t + 1] = o[t]*tanh(m[t + 1])",
        "dot(v, h[T])", ("U", "b"), lstm, hessian=False,
    ),
    Case(
        "forward", "s[0, k] = c[k] + E[0, k]\n"
        "s[t + 1, k] = E[t + 1, k] + logsumexp(s[t, j] + L[j, k], j)",
        "logsumexp(s[T - 1, k], k)", ("L", "c"), forward,
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
        "factors", "x[0] = x0\nx[t + 1] = phi*x[t] + (A @ sin(x[t]))*y[t]",
        "sum(x[T]**2)", ("A", "x0", "phi"), lambda **k: (nested(**k) ** 2).sum(),
    ),
)  # fmt: skip


def given(case: Case) -> dict[str, Array]:
    """Arguments of a function."""
    rng = np.random.default_rng(1)
    found: dict[str, Array] = {}
    for name in case.used:
        shape = [SIZES.get(x) or int(x) for x in SHAPES[name]]
        found[name] = np.array(0.5 * rng.normal(size=shape))
        if name in ("Q", "R", "P0"):
            found[name] = found[name] @ found[name].T + np.eye(len(found[name]))
    return found


def slope(loop: Callable[..., Array], values: dict[str, Array], name: str) -> Array:
    """The derivative of a loop by an argument, by complex steps."""
    found = np.zeros(values[name].shape)
    for at in np.ndindex(found.shape):
        stepped = np.array(values[name], complex)
        stepped[at] += 1e-30j
        found[at] = np.imag(loop(**{**values, name: stepped})) / 1e-30
    return found


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def made(request: pytest.FixtureRequest) -> tuple[Case, ModuleType]:
    return request.param, execute(tensorgen.generate(request.param.text))


def parts(result: Any) -> list[Array]:
    return list(result) if isinstance(result, tuple) else [result]


def test_steps_are_what_loops_are(made: tuple[Case, ModuleType]) -> None:
    case, module = made
    values = given(case)
    assert module.fun(**values) == pytest.approx(case.loop(**values), rel=1e-12)
    for name, got in zip(case.wrt, parts(module.fun_grad(**values)), strict=True):
        want = slope(case.loop, values, name)
        np.testing.assert_allclose(got, want, 1e-10, 1e-11)


def test_second_derivatives_are_slopes_of_the_first(
    made: tuple[Case, ModuleType],
) -> None:
    case, module = made
    if not case.hessian:
        return
    values, step = given(case), 1e-5
    rng = np.random.default_rng(2)
    along = {name: rng.normal(size=values[name].shape) for name in case.wrt}

    def gradient(sign: int) -> Array:
        moved = {x: values[x] + sign * step * along[x] for x in case.wrt}
        found = parts(module.fun_grad(**{**values, **moved}))
        return np.concatenate([np.ravel(x) for x in found])

    want = (gradient(1) - gradient(-1)) / (2 * step)
    directions = {f"d{name}": along[name] for name in case.wrt}
    found = parts(module.fun_hvp(**values, **directions))
    np.testing.assert_allclose(
        np.concatenate([np.ravel(x) for x in found]), want, 1e-6, 1e-7
    )
    hessian = module.fun_hess(**values)
    whole = np.concatenate([np.ravel(along[name]) for name in case.wrt])
    np.testing.assert_allclose(hessian @ whole, want, 1e-6, 1e-7)


WALKS = {
    "running sums": ("s[0] = phi\ns[t + 1] = s[t] + y[t]**2", "np.cumsum"),
    "running sums back": ("s[T] = phi\ns[t] = s[t + 1] + y[t]**2", "np.cumsum"),
    "products": ("s[0] = phi\ns[t + 1] = s[t]*(1 + y[t]**2)", "np.cumprod"),
    "largest": ("s[0] = phi\ns[t + 1] = maximum(s[t], y[t])", "_running_max"),
    "smallest": ("s[0] = phi\ns[t + 1] = minimum(y[t], s[t])", "_running_min"),
    "log-sum-exps": (
        "s[0] = phi\ns[t + 1] = logaddexp(s[t], y[t])",
        "_running_logsumexp",
    ),
    "filters": ("s[0] = phi\ns[t + 1] = theta*s[t] + y[t]**2", "_filtered"),
    "filters back": ("s[T] = phi\ns[t] = y[t]**2 - 2*theta*s[t + 1]", "_filtered"),
}


def walked(name: str, phi: float, theta: float, y: Array) -> Array:
    """The steps of a walk, one after the other."""
    steps: dict[str, Callable[[Array, Array], Array]] = {
        "running sums": lambda s, x: s + x**2,
        "products": lambda s, x: s * (1 + x**2),
        "largest": max,
        "smallest": min,
        "log-sum-exps": np.logaddexp,
        "filters": lambda s, x: (-2 * theta if "back" in name else theta) * s + x**2,
    }
    step, found = steps[name.removesuffix(" back")], [phi]
    for x in y[::-1] if "back" in name else y:
        found.append(step(found[-1], x))
    return np.array(found[::-1] if "back" in name else found)


@pytest.mark.parametrize("name", WALKS)
@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_what_the_library_walks_through_is_no_loop(name: str, backend: str) -> None:
    where, call = WALKS[name]
    case = Case(name, where, "sum(s**2)", ("phi", "y"), walked, hessian=False)
    text = tensorgen.generate(case.text, backend)
    code = text[text.index("def fun(") : text.index("def fun_grad")]
    assert "for t in" not in code and call.replace("np.", "") in code
    values = given(case)
    theta = float(values.get("theta", 0.0))
    phi, y, step = float(values["phi"]), values["y"], 1e-6
    with stand_in() as cupy:
        module = execute(text)
        if backend == "cupy":
            values = {key: cupy.asarray(x) for key, x in values.items()}
        value, slopes = float(module.fun(**values)), module.fun_grad(**values)
        slope = float(slopes.y.sum())
    want = walked(name, phi, theta, y)
    assert value == pytest.approx((want**2).sum(), rel=1e-12)
    moved = (walked(name, phi, theta, y + sign * step) for sign in (1, -1))
    ahead, behind = ((found**2).sum() for found in moved)
    assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-6)


@pytest.mark.parametrize("case", CASES[:8], ids=lambda case: case.name)
def test_the_other_library_steps_alike(case: Case) -> None:
    values = given(case)
    with stand_in() as cupy:
        module = execute(tensorgen.generate(case.text, backend="cupy"))
        arrays = {name: cupy.asarray(x) for name, x in values.items()}
        value = float(module.fun(**arrays))
    assert value == pytest.approx(case.loop(**values), rel=1e-12)


def differences(f: Callable[[Array], Array], x: Array) -> Array:
    """The slope of a number by central differences."""
    found = np.zeros(x.shape)
    for at in np.ndindex(x.shape):
        ahead, behind = x.copy(), x.copy()
        ahead[at] += 1e-6
        behind[at] -= 1e-6
        found[at] = (f(ahead) - f(behind)) / 2e-6
    return found


PLACES = """
tensorgen: 1
inputs: {S: [K, K], lab: {shape: [T], index: K}, c: [K], y: [T]}
functions:
  f:
    where: |
      a[0] = c
      a[t + 1] = a[t]*y[t] + a[t, lab[t]]*S[lab[t]]
    expr: sum(a[T])
    wrt: [S, c]
    emit: [value, gradient, hvp]
"""


def test_steps_read_states_where_index_arrays_say() -> None:
    module, rng = execute(tensorgen.generate(PLACES)), np.random.default_rng(0)
    S, c, y = (rng.normal(size=shape) for shape in ((3, 3), 3, 5))
    lab = rng.integers(0, 3, 5)

    def loop(S: Array, c: Array) -> Array:
        a = c
        for t in range(5):
            a = a * y[t] + a[lab[t]] * S[lab[t]]
        return a.sum()

    given = {"S": S, "lab": lab, "c": c, "y": y}
    assert module.f(**given) == pytest.approx(loop(S, c), rel=1e-12)
    slopes = module.f_grad(**given)
    want = differences(lambda x: loop(x, c), S)
    np.testing.assert_allclose(slopes.S, want, 1e-7, 1e-8)
    np.testing.assert_allclose(slopes.c, differences(lambda x: loop(S, x), c), 1e-7)


EXCLUDED = """
tensorgen: 1
inputs: {A: [n, n], u: [T, n], x0: [n], y: [T, n], mask: [T]}
functions:
  f:
    where: |
      x[0] = x0
      x[t + 1] = A @ x[t] + where(mask[t] > 0, u[t], 0)
    expr: sum(where(mask[t] > 0, norm(y[t] - x[t])**2, 0), t)
    wrt: [A, x0]
    emit: [value, gradient, hvp]
"""


def test_what_is_left_out_of_steps_does_not_exist() -> None:
    module, rng = execute(tensorgen.generate(EXCLUDED)), np.random.default_rng(0)
    A, u, x0, y = (rng.normal(size=s) / 2 for s in ((3, 3), (6, 3), 3, (6, 3)))
    mask = np.array([1.0, 0, 1, 1, 0, 1])
    u[mask == 0] = y[mask == 0] = np.nan

    def loop(A: Array, x0: Array) -> Array:
        x, total = x0, 0.0
        for t in np.arange(6):
            if mask[t]:
                total += ((y[t] - x) ** 2).sum()
            x = A @ x + (u[t] if mask[t] else 0)
        return total

    given = {"A": A, "u": u, "x0": x0, "y": y, "mask": mask}
    assert module.f(**given) == pytest.approx(loop(A, x0), rel=1e-12)
    slopes = module.f_grad(**given)
    want = differences(lambda x: loop(x, x0), A)
    np.testing.assert_allclose(slopes.A, want, 1e-6, 1e-7)
    np.testing.assert_allclose(slopes.x0, differences(lambda x: loop(A, x), x0), 1e-6)
    twice = module.f_hvp(**given, dA=np.ones((3, 3)), dx0=np.ones(3))
    assert all(np.isfinite(part).all() for part in twice)


FAULTS = {
    "e[t] = y[t] - phi*e[t - 1]": "the first entry of 'e' has to be given",
    "h = h + y": "'h' is defined by itself",
    "x[0] = x0\nx[t + 1] = A @ x[t]": "nothing says how far 't' goes",
    "x[0] = x0\nx[t + 1] = A @ x[t + 2] + u[t]": "made by a later step",
    "x[0] = x0\nx[t + 1] = A @ x + u[t]": "no whole array here",
    "x[0] = 0\nx[t + 1] = x[t] + u[t]": "gives the shape (n,), but entry 0 has ()",
    "x[0] = x0": "there are first entries alone",
    "x[1] = x0\nx[t + 1] = x[t] + u[t]": "first entries of 'x' begin at 0",
    "x[0] = x0\nx[2*t] = x[t] + u[t]": "'2*t' is no place of an entry",
    "x[0] = x0\nx[t + 1] = x[t]\nx[t + 2] = x[t]": "'x' has two steps",
    "p[0] = x0\nq[0] = x0\np[t + 1] = q[t + 1] + u[t]\nq[t + 1] = p[t + 1]": (
        "entries of one step need each other"
    ),
    "x[0] = x0\nx[t + 1] = x[t] + u[t]\nx[3] = x0": "first entries of 'x' begin at 0",
    "x[0] = x0\nx[t + 1] = x[5] + u[t]": "is made by a step",
    "x[0] = x0\nx[t=range(1, T)] = x[t - 1] + u[t + 1]": "u[t + 1]",
    "x[0] = x0\nx[t + 1] = (x[t]*y)[t] + u[t]": "shapes do not match",
}


@pytest.mark.parametrize("lines", FAULTS)
def test_what_is_no_recurrence_is_reported(lines: str) -> None:
    where = lines.replace("\n", "\n      ")
    text = (
        "tensorgen: 1\ninputs: {A: [n, n], u: [T, n], x0: [n], y: [T], phi: scalar}\n"
        f"functions:\n  f:\n    where: |\n      {where}\n    expr: sum(x0)\n"
    )
    with pytest.raises(SpecError) as error:
        tensorgen.generate(text)
    assert FAULTS[lines] in str(error.value)
