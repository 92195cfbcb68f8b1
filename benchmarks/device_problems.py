"""The problems that `device.py` measures: specs, data, and the same for others.

A problem is written three times: as a spec, as a function of `jax.numpy` or `torch`
(the same text serves both but for loops), and where it has one, as the bare products
or the copy that nothing can be faster than.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = dict[str, Any]
Rng = np.random.Generator
LAYERS = 10


@dataclass(frozen=True)
class Problem:
    """A function of several inputs; `wrt` are the first of them."""

    inputs: str
    expr: str
    wrt: tuple[str, ...]
    data: Callable[[dict[str, int], Rng], Arrays]
    other: Callable[..., Any]
    """The function, given the library and then the arrays in order."""
    where: tuple[str, ...] = ()
    limits: tuple[tuple[str, Callable[[Any, Arrays], Callable[[], Any]]], ...] = ()
    """By task: what bounds it from below, given CuPy and the arrays there."""

    def text(self, sizes: dict[str, int], emit: str) -> str:
        """The text of the spec, with its sizes as hints."""
        where = "    where: |\n" + "".join(f"      {row}\n" for row in self.where)
        return (
            f"tensorgen: 1\ndims: {sizes}\ninputs: {{{self.inputs}}}\n"
            f"functions:\n  f:\n{where if self.where else ''}"
            f"    expr: {self.expr}\n    wrt: [{', '.join(self.wrt)}]\n"
            f"    emit: [{emit}]\n"
        )


# --- logistic regression ------------------------------------------------------------


def _logistic_data(sizes: dict[str, int], rng: Rng) -> Arrays:
    X = rng.standard_normal((sizes["m"], sizes["n"]))
    w = rng.standard_normal(sizes["n"]) / np.sqrt(sizes["n"])
    return {"w": w, "X": X, "y": np.sign(X @ w + rng.standard_normal(len(X)))}


def _logistic(lib: Any, w: Any, X: Any, y: Any) -> Any:
    t = -y * (X @ w)
    return lib.logaddexp(t, lib.zeros_like(t)).sum() + 0.001 * (w @ w)


def _two_products(cp: Any, a: Arrays) -> Callable[[], Any]:
    return lambda: ((a["X"] @ a["w"]), (a["y"] @ a["X"]))


def _gram(cp: Any, a: Arrays) -> Callable[[], Any]:
    return lambda: a["X"].T @ a["X"]


LOGISTIC = Problem(
    "w: [n], X: [m, n], y: [m]",
    "sum(log(1 + exp(-y * (X @ w)))) + 0.001 * norm(w)**2",
    ("w",),
    _logistic_data,
    _logistic,
    limits=(("value and gradient", _two_products), ("Hessian", _gram)),
)


# --- factorisation of a matrix with gaps ---------------------------------------------


def _factorisation_data(sizes: dict[str, int], rng: Rng) -> Arrays:
    shape = (sizes["m"], sizes["p"])
    return {
        "U": rng.standard_normal((sizes["m"], sizes["k"])),
        "V": rng.standard_normal((sizes["p"], sizes["k"])),
        "T": rng.standard_normal(shape),
        "O": (rng.random(shape) < 0.5).astype(float),
    }


def _row(lib: Any, u: Any, V: Any, t: Any, o: Any) -> Any:
    return (o * (t - V @ u) ** 2).sum()


def _pairs(cp: Any, a: Arrays) -> Callable[[], Any]:
    V = a["V"]
    pairs = (V[:, :, None] * V[:, None]).reshape(len(V), -1)
    return lambda: a["O"] @ pairs


FACTORISATION = Problem(
    "U: [m, k], V: [p, k], T: [m, p], O: [m, p]",
    "sum(O * (T - U @ V.T)**2)",
    ("U",),
    _factorisation_data,
    _row,
    limits=(("blocks of the Hessian", _pairs),),
)


# --- a deep network -------------------------------------------------------------------


def _network_data(sizes: dict[str, int], rng: Rng) -> Arrays:
    n = sizes["n"]
    names = ["W", *(f"D{i}" for i in range(2, LAYERS + 1))]
    found: Arrays = {k: rng.standard_normal((n, n)) / np.sqrt(n) for k in names}
    return found | {"x": rng.standard_normal(n), "y": rng.standard_normal(n)}


def _network(lib: Any, W: Any, *rest: Any) -> Any:
    *deep, x, y = rest
    h = lib.tanh(W @ x)
    for D in deep:
        h = lib.tanh(D @ h)
    return ((h - y) ** 2).sum()


NETWORK = Problem(
    "W: [n, n], "
    + ", ".join(f"D{i}: [n, n]" for i in range(2, LAYERS + 1))
    + ", x: [n], y: [n]",
    f"sum((h{LAYERS} - y)**2)",
    ("W",),
    _network_data,
    _network,
    where=(
        "h1 = tanh(W @ x)",
        *(f"h{i} = tanh(D{i} @ h{i - 1})" for i in range(2, LAYERS + 1)),
    ),
)


# --- entrywise ------------------------------------------------------------------------


def _student_data(sizes: dict[str, int], rng: Rng) -> Arrays:
    n = sizes["n"]
    return {"x": rng.standard_normal(n), "y": rng.standard_normal(n)}


def _student(lib: Any, x: Any, y: Any) -> Any:
    return lib.log1p((y - x) ** 2 / 4).sum()


def _copy(cp: Any, a: Arrays) -> Callable[[], Any]:
    # Two vectors are read and one is written: as a copy of one and a half moves.
    source = cp.concatenate([a["x"], a["y"][: a["y"].size // 2]])
    target = cp.empty_like(source)
    return lambda: cp.copyto(target, source)


STUDENT = Problem(
    "x: [n], y: [n]",
    "sum(log(1 + (y - x)**2 / 4))",
    ("x",),
    _student_data,
    _student,
    limits=(("value and gradient", _copy),),
)


# --- a list of ratings ----------------------------------------------------------------


def _ratings_data(sizes: dict[str, int], rng: Rng) -> Arrays:
    users, items, k, e = (sizes[key] for key in ("users", "items", "k", "e"))
    return {
        "U": rng.standard_normal((users, k)) / np.sqrt(k),
        "V": rng.standard_normal((items, k)),
        "row": rng.integers(0, users, e),
        "col": rng.integers(0, items, e),
        "r": rng.standard_normal(e),
    }


def _ratings(lib: Any, U: Any, V: Any, row: Any, col: Any, r: Any) -> Any:
    return ((r - (U[row] * V[col]).sum(-1)) ** 2).sum()


RATINGS = Problem(
    "U: [users, k], V: [items, k], row: {shape: [e], index: users}, "
    "col: {shape: [e], index: items}, r: [e]",
    "sum((r[s] - sum(U[row[s], a] * V[col[s], a], a))**2, s)",
    ("U", "V"),
    _ratings_data,
    _ratings,
)


# --- small systems, many --------------------------------------------------------------


def _solves_data(sizes: dict[str, int], rng: Rng) -> Arrays:
    b, d = sizes["b"], sizes["d"]
    A = rng.standard_normal((b, d, d)) / np.sqrt(d)
    return {"A": A @ A.transpose(0, 2, 1) + np.eye(d), "y": rng.standard_normal((b, d))}


def _solves(lib: Any, A: Any, y: Any) -> Any:
    x = lib.linalg.solve(A, y[..., None])[..., 0]
    return (y * x).sum()


SOLVES = Problem(
    "A: [b, d, d], y: [b, d]",
    "sum(y[i, j] * x[i, j], i, j)",
    ("A",),
    _solves_data,
    _solves,
    where=("x[i, :] = solve(A[i], y[i])",),
)


# --- bundle adjustment ----------------------------------------------------------------


def _bundle_data(sizes: dict[str, int], rng: Rng) -> Arrays:
    cameras, points, e = (sizes[key] for key in ("cameras", "points", "e"))
    shift = 0.1 * rng.standard_normal((cameras, 3))
    shift[:, 2] += 6
    return {
        "turn": 0.3 * rng.standard_normal((cameras, 3)),
        "shift": shift,
        "point": rng.uniform(-1, 1, (points, 3)),
        "c": rng.integers(0, cameras, e),
        "q": rng.integers(0, points, e),
        "seen": rng.standard_normal((e, 2)),
    }


def _bundle(
    lib: Any, turn: Any, shift: Any, point: Any, c: Any, q: Any, seen: Any
) -> Any:
    w, p = turn[c], point[q]
    angle = lib.sqrt((w * w).sum(-1))[:, None]
    a = w / angle
    along = (1 - lib.cos(angle)) * (a * p).sum(-1)[:, None]
    x, y = (a[:, 0], a[:, 1], a[:, 2]), (p[:, 0], p[:, 1], p[:, 2])
    turned = [x[i - 2] * y[i - 1] - x[i - 1] * y[i - 2] for i in range(3)]
    moved = lib.cos(angle) * p + lib.sin(angle) * lib.stack(turned, -1) + along * a
    moved = moved + shift[c]
    return ((500 * moved[:, :2] / moved[:, 2:] - seen) ** 2).sum() / 2


BUNDLE = Problem(
    "turn: [cameras, 3], shift: [cameras, 3], point: [points, 3], "
    "c: {shape: [e], index: cameras}, q: {shape: [e], index: points}, seen: [e, 2]",
    "sum(miss**2) / 2",
    ("turn", "shift", "point"),
    _bundle_data,
    _bundle,
    where=(
        "angle[s] = norm(turn[c[s]])",
        "axis[s, :] = turn[c[s]] / angle[s]",
        "p[s, :] = point[q[s]]",
        "along[s] = (1 - cos(angle[s])) * sum(axis[s, k] * p[s, k], k)",
        "turned[s, :] = cross(axis[s], p[s])",
        "moved[s, k] = cos(angle[s]) * p[s, k] + sin(angle[s]) * turned[s, k]"
        " + along[s] * axis[s, k] + shift[c[s], k]",
        "miss[s, k] = 500 * moved[s, k] / moved[s, 2] - seen[s, k]",
    ),
)


# --- attention ------------------------------------------------------------------------


def _attention_data(sizes: dict[str, int], rng: Rng) -> Arrays:
    n, d = sizes["n"], sizes["d"]
    return {key: rng.standard_normal((n, d)) for key in ("Q", "K", "V")}


def _attention(lib: Any, Q: Any, K: Any, V: Any) -> Any:
    S = Q @ K.T / K.shape[1] ** 0.5
    S = S - lib.logsumexp(S, -1)[:, None]
    return ((lib.exp(S) @ V) ** 2).sum()


def _six_products(cp: Any, a: Arrays) -> Callable[[], Any]:
    Q, K, V = a["Q"], a["K"], a["V"]
    P = Q @ K.T
    return lambda: (Q @ K.T, P @ V, Q @ V.T, P.T @ V, P @ K, P.T @ Q)


ATTENTION = Problem(
    "Q: [n, d], K: [n, d], V: [n, d]",
    "sum((softmax(Q @ K.T / sqrt(d), axis=1) @ V)**2)",
    ("Q", "K", "V"),
    _attention_data,
    _attention,
    limits=(("value and gradient", _six_products),),
)


# --- a recurrence ---------------------------------------------------------------------


def _rollout_data(sizes: dict[str, int], rng: Rng) -> Arrays:
    n, T = sizes["n"], sizes["T"]
    return {
        "A": rng.standard_normal((n, n)) / np.sqrt(n),
        "u": 0.1 * rng.standard_normal((T, n)),
        "start": rng.standard_normal(n),
    }


def _rollout(lib: Any, A: Any, u: Any, start: Any) -> Any:
    if lib.__name__.startswith("jax"):
        import jax

        def step(x: Any, v: Any) -> Any:
            new = lib.tanh(A @ x + v)
            return new, (new**2).sum()

        return jax.lax.scan(step, start, u)[1].sum()
    total, x = 0.0, start
    for v in u:
        x = lib.tanh(A @ x + v)
        total = total + (x**2).sum()
    return total


ROLLOUT = Problem(
    "A: [n, n], u: [T, n], start: [n]",
    "sum(x[1:]**2)",
    ("A", "u"),
    _rollout_data,
    _rollout,
    where=("x[0] = start", "x[t + 1] = tanh(A @ x[t] + u[t])"),
)


PROBLEMS = {
    "logistic": LOGISTIC,
    "factorisation": FACTORISATION,
    "network": NETWORK,
    "entrywise": STUDENT,
    "ratings": RATINGS,
    "small solves": SOLVES,
    "bundle adjustment": BUNDLE,
    "attention": ATTENTION,
    "rollout": ROLLOUT,
}
