"""Set E: single expressions, by their sizes."""

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from by_hand import expressions as by_hand
from by_hand.regressions import level as level_hessian
from cases import Case, Contender, Data, Set, Task, leaves
from numpy.random import Generator
from peers import Kind, derived, hand, ours

Array = Any
PAIRS: Kind = "value and gradient"


@dataclass(frozen=True)
class Expression:
    """A function at several sizes; shapes are of n, and of numbers.

    `result` is given n and what came out, and makes arrays of it to compare; `peers` is
    the largest n that libraries which form all entries are asked for.
    """

    problem: str
    kind: Kind
    sizes: tuple[int, ...]
    inputs: dict[str, str]
    expr: str
    wrt: str
    loss: Callable[..., Any]
    by_hand: Callable[..., Any]
    emit: str = "value, gradient"
    call: str = "f_value_and_grad"
    where: str = ""
    data: Callable[[int, Generator], Data] | None = None
    result: Callable[[int, Any], list[Array]] | None = None
    others: tuple[Contender, ...] = ()
    others_to: int = 0
    peers: int = 10**9

    def spec(self, n: int) -> str:
        """Return the text of the spec for a typical size."""
        inputs = ", ".join(f"{name}: {shape}" for name, shape in self.inputs.items())
        where = f"    where: |\n      {self.where}\n" if self.where else ""
        return (
            f"tensorgen: 1\nmodule: expressions\ndims: {{n: {n}}}\n"
            f"inputs: {{{inputs}}}\nfunctions:\n  f:\n{where}    expr: {self.expr}\n"
            f"    wrt: [{self.wrt}]\n    emit: [{self.emit}]\n"
        )

    def random(self, n: int, rng: Generator) -> Data:
        """Return entries of a size that does not grow with n where they are summed."""
        made: Data = {}
        for name, shape in self.inputs.items():
            sizes = [n if s.strip() == "n" else int(s) for s in shape[1:-1].split(",")]
            made[name] = rng.normal(size=sizes) / np.sqrt(sizes[-1])
        return made

    def case(self, n: int) -> Case:
        """Return the case of a size."""
        result = leaves if self.result is None else partial(self.result, n)
        places = len(self.wrt.split(","))
        peers = derived(self.loss, self.kind, places) if n <= self.peers else ()
        if n <= self.others_to:
            peers += self.others
        elif self.others:
            peers += tuple(c for c in self.others if c.name != "CasADi")
        return Case(
            self.problem,
            "n",
            n,
            partial(self.data or self.random, n),
            (
                ours(self.spec(n), self.call, result=result),
                hand(self.by_hand, result=result),
                *(
                    Contender(c.name, c.make, c.libraries, _of(c, result))
                    for c in peers
                ),
            ),
        )


def _of(contender: Contender, result: Any) -> Any:
    return result if contender.result is leaves else contender.result


def _times_kronecker(n: int, found: Any) -> list[Array]:
    v = np.random.default_rng(1).normal(size=(n, n))
    if isinstance(found, tuple):
        return [found[0] @ v @ found[1]]
    if hasattr(found, "matvec"):
        return [np.reshape(found @ v, (n, n))]
    return [np.tensordot(np.asarray(found), v, 2)]


def _times_bands(n: int, found: Any) -> list[Array]:
    v = np.random.default_rng(1).normal(size=n)
    if isinstance(found, tuple):
        diagonal, beside = found
        product = diagonal * v
        product[1:] += beside * v[:-1]
        product[:-1] += beside * v[1:]
        return [product]
    return [np.asarray(found @ v)]


def _casadi(build: Callable[[Any, Any, Data], Any], second: bool, data: Data) -> Task:
    casadi: Any = importlib.import_module("casadi")
    x = casadi.SX.sym("x", len(data["x"]))
    value = build(casadi, x, data)
    if second:
        function = casadi.Function("f", [x], [casadi.hessian(value, x)[0]])
        return lambda: function(data["x"]).sparse()
    function = casadi.Function("f", [x], [value, casadi.gradient(value, x)])
    return lambda: [y.full().squeeze() for y in function(data["x"])]


def _valley(casadi: Any, x: Any, data: Data) -> Any:
    return casadi.sumsqr(10 * (x[1:] - x[:-1] ** 2)) + casadi.sumsqr(1 - x[:-1])


def _by_casadi(build: Any, second: bool = False) -> Contender:
    return Contender("CasADi", partial(_casadi, build, second), ("casadi",))


def _processes(data: Data) -> Task:
    """The marginal likelihood by scikit-learn, in logarithms of its parameters."""
    parts: Any = importlib.import_module("sklearn.gaussian_process")
    kernels = parts.kernels
    length, noise = data["length"], data["noise"]
    kernel = kernels.RBF(length) + kernels.WhiteKernel(noise)
    model = parts.GaussianProcessRegressor(kernel, optimizer=None, alpha=0.0)
    model.fit(data["X"], data["y"])
    theta = np.log([length, noise])
    constant = len(data["y"]) / 2 * np.log(2 * np.pi)

    def task() -> tuple[Array, ...]:
        value, slopes = model.log_marginal_likelihood(theta, eval_gradient=True)
        by_length, by_noise = -slopes / (length, noise)
        return -value - constant, by_length, by_noise

    return task


LENGTH, NOISE = 1.7, 0.2


def _process_data(n: int, rng: Generator) -> Data:
    X, y = rng.normal(size=(n, 4)), rng.normal(size=n)
    return {"X": X, "y": y, "length": LENGTH, "noise": NOISE}


def _labels(n: int, rng: Generator) -> Data:
    W, X = rng.normal(size=(n, 10)) / n, rng.normal(size=(10 * n, n))
    return {"W": W, "X": X, "Y": np.eye(10)[rng.integers(0, 10, 10 * n)]}


def _ridge_data(n: int, rng: Generator) -> Data:
    w, X = rng.normal(size=n), rng.normal(size=(2 * n, n))
    return {"w": w, "X": X, "y": rng.normal(size=2 * n), "lam": 0.1}


def _square(n: int, rng: Generator) -> Data:
    return {"u": rng.normal(size=(n, n)), "g": rng.normal(size=(n, n))}


EXPRESSIONS = (
    Expression(
        "log-sum-exp, value and gradient",
        PAIRS,
        (10, 100, 1000, 10_000, 100_000, 1_000_000),
        {"x": "[n]"},
        "log(sum(exp(x)))",
        "x",
        lambda xp, x: xp.logsumexp(x, 0),
        by_hand.level,
    ),
    Expression(
        "log-sum-exp, Hessian",
        "Hessian",
        (10, 100, 1000, 4000),
        {"x": "[n]"},
        "log(sum(exp(x)))",
        "x",
        lambda xp, x: xp.logsumexp(x, 0),
        level_hessian,
        "dense_hessian",
        "f_hess_dense",
    ),
    Expression(
        "ridge, value and gradient",
        PAIRS,
        (10, 100, 1000, 4000),
        {"w": "[n]", "X": "[m, n]", "y": "[m]", "lam": "scalar"},
        "sum((X @ w - y)**2) + lam*sum(w**2)",
        "w",
        lambda xp, w, X, y, lam: xp.sum((X @ w - y) ** 2) + lam * xp.sum(w**2),
        by_hand.ridge,
        data=_ridge_data,
    ),
    Expression(
        "||A X B - C||^2, value and gradient",
        PAIRS,
        (10, 100, 300, 1000),
        {"X": "[n, n]", "A": "[n, n]", "B": "[n, n]", "C": "[n, n]"},
        "norm(A @ X @ B - C)**2",
        "X",
        lambda xp, X, A, B, C: xp.sum((A @ X @ B - C) ** 2),
        by_hand.bilinear,
    ),
    Expression(
        "||A X B - C||^2, Hessian",
        "Hessian",
        (10, 30, 100, 300, 1000),
        {"X": "[n, n]", "A": "[n, n]", "B": "[n, n]", "C": "[n, n]"},
        "norm(A @ X @ B - C)**2",
        "X",
        lambda xp, X, A, B, C: xp.sum((A @ X @ B - C) ** 2),
        by_hand.bilinear_factors,
        "hessian",
        "f_hess",
        result=_times_kronecker,
        peers=100,
    ),
    Expression(
        "x' A x, value and gradient",
        PAIRS,
        (10, 100, 1000, 4000),
        {"x": "[n]", "A": "[n, n]"},
        "x @ A @ x",
        "x",
        lambda xp, x, A: x @ A @ x,
        by_hand.quadratic,
    ),
    Expression(
        "B tanh(sin(A x)), Jacobian",
        "Jacobian",
        (10, 100, 500, 1000, 2000),
        {"x": "[n]", "A": "[n, n]", "B": "[n, n]"},
        "B @ tanh(sin(A @ x))",
        "x",
        lambda xp, x, A, B: B @ xp.tanh(xp.sin(A @ x)),
        by_hand.chain,
        "dense_jacobian",
        "f_jac_dense",
    ),
    Expression(
        "Gaussian process, value and gradient",
        PAIRS,
        (10, 100, 300, 1000),
        {"X": "[n, 4]", "y": "[n]", "length": "scalar", "noise": "scalar"},
        "y @ inv(S) @ y/2 + logdet(S)/2",
        "length, noise",
        lambda xp, length, noise, X, y: _marginal(xp, length, noise, X, y),
        by_hand.process,
        where="S[i, j] = exp(-sum((X[i, k] - X[j, k])**2, k)/(2*length**2))"
        " + noise*delta(i, j)",
        data=_process_data,
        others=(Contender("scikit-learn", _processes, ("sklearn.gaussian_process",)),),
        others_to=10**9,
    ),
    Expression(
        "softmax regression, value and gradient",
        PAIRS,
        (10, 30, 100, 300),
        {"W": "[n, 10]", "X": "[m, n]", "Y": "[m, 10]"},
        "sum(logsumexp(X @ W, axis=1)) - sum(Y * (X @ W))",
        "W",
        lambda xp, W, X, Y: xp.sum(xp.logsumexp(X @ W, 1)) - xp.sum(Y * (X @ W)),
        by_hand.softmax_regression,
        data=_labels,
    ),
    Expression(
        "Rosenbrock, value and gradient",
        PAIRS,
        (10, 100, 1000, 10_000, 100_000, 1_000_000),
        {"x": "[n]"},
        "sum(100*(x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)",
        "x",
        lambda xp, x: xp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
        by_hand.rosenbrock,
        others=(_by_casadi(_valley),),
        others_to=10_000,
    ),
    Expression(
        "Rosenbrock, Hessian",
        "Hessian",
        (10, 100, 1000, 10_000, 100_000, 1_000_000),
        {"x": "[n]"},
        "sum(100*(x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)",
        "x",
        lambda xp, x: xp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
        by_hand.rosenbrock_bands,
        "hessian",
        "f_hess",
        result=_times_bands,
        others=(_by_casadi(_valley, True),),
        others_to=10_000,
    ),
    Expression(
        "stencil n x n, value and gradient",
        PAIRS,
        (10, 32, 100, 316, 1000),
        {"u": "[n, n]", "g": "[n, n]"},
        "sum((u[1:, :] - u[:-1, :])**2)/2 + sum((u[:, 1:] - u[:, :-1])**2)/2"
        " + sum(u**4)/4 - sum(g*u)",
        "u",
        lambda xp, u, g: (
            xp.sum((u[1:, :] - u[:-1, :]) ** 2) / 2
            + xp.sum((u[:, 1:] - u[:, :-1]) ** 2) / 2
            + xp.sum(u**4) / 4
            - xp.sum(g * u)
        ),
        by_hand.stencil,
        data=_square,
    ),
    Expression(
        "kernel matrix, value and gradient",
        PAIRS,
        (10, 100, 300, 1000, 2000),
        {"X": "[n, 8]", "W": "[n, n]"},
        "sum(W[i, j]*exp(-sum((X[i, k] - X[j, k])**2, k)/2), i, j)",
        "X",
        lambda xp, X, W: xp.sum(W * xp.exp(-_distances(xp, X) / 2)),
        by_hand.kernel,
    ),
    Expression(
        "attention, value and gradient",
        PAIRS,
        (10, 100, 300, 1000, 2000),
        {"Q": "[n, 64]", "K": "[n, 64]", "V": "[n, 64]", "C": "[n, 64]"},
        "sum(C * (softmax(Q @ K.T / sqrt(64), axis=1) @ V))",
        "Q, K, V",
        lambda xp, Q, K, V, C: xp.sum(C * (xp.softmax(Q @ K.T / 8, 1) @ V)),
        by_hand.attention,
    ),
)


def _distances(xp: Any, X: Array) -> Array:
    square = xp.sum(X * X, 1)
    return square[:, None] + square - 2 * (X @ X.T)


def _marginal(xp: Any, length: Any, noise: Any, X: Array, y: Array) -> Any:
    K = xp.exp(-_distances(xp, X) / (2 * length**2))
    S = K + noise * np.eye(X.shape[0])
    return y @ xp.linalg.solve(S, y) / 2 + xp.linalg.slogdet(S)[1] / 2


def cases() -> Iterator[Case]:
    """All expressions, from small to large."""
    for expression in EXPRESSIONS:
        yield from (expression.case(n) for n in expression.sizes)


SET = Set("E", "expressions", "Single expressions, by their sizes.", cases)
