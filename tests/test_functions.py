"""Every function of the language from a spec to numbers: value and two derivatives.

JAX is the oracle. Each case is an expression of `x` (and of data that are not
differentiated), written once in the language and once for JAX.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.scipy import linalg, special

from tensorgen.operators.functions import FUNCTIONS
from tests.jax_cases import Case, check
from tests.sampled import sampled

pytestmark = pytest.mark.usefixtures("float64")


@pytest.fixture(scope="module")
def float64() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def unary(name: str, oracle: Callable[..., Any], low: float = -0.9) -> Case:
    return Case("n", f"{name}(x)", oracle, low=low)


ELEMENTWISE = [
    unary("exp", jnp.exp),
    unary("expm1", jnp.expm1),
    unary("log", jnp.log, 0.2),
    unary("log1p", jnp.log1p),
    unary("log2", jnp.log2, 0.2),
    unary("log10", jnp.log10, 0.2),
    unary("sqrt", jnp.sqrt, 0.2),
    unary("cbrt", jnp.cbrt, 0.2),
    unary("square", jnp.square),
    unary("reciprocal", jnp.reciprocal, 0.2),
    unary("abs", jnp.abs),
    unary("sign", jnp.sign),
    unary("sin", jnp.sin),
    unary("cos", jnp.cos),
    unary("tan", jnp.tan),
    unary("asin", jnp.arcsin),
    unary("acos", jnp.arccos),
    unary("atan", jnp.arctan),
    unary("arcsin", jnp.arcsin),
    unary("arccos", jnp.arccos),
    unary("arctan", jnp.arctan),
    unary("ln", jnp.log, 0.2),
    unary("sinh", jnp.sinh),
    unary("cosh", jnp.cosh),
    unary("tanh", jnp.tanh),
    unary("asinh", jnp.arcsinh),
    Case("n", "acosh(x)", jnp.arccosh, low=1.1, high=3.0),
    unary("atanh", jnp.arctanh),
    unary("sigmoid", jax.nn.sigmoid),
    unary("softplus", jax.nn.softplus),
    unary("log_sigmoid", jax.nn.log_sigmoid),
    unary("relu", jax.nn.relu),
    unary("gelu", lambda x: jax.nn.gelu(x, approximate=False)),
    unary("silu", jax.nn.silu),
    unary("elu", jax.nn.elu),
    unary("softsign", jax.nn.soft_sign),
    unary("mish", jax.nn.mish),
    unary("erf", special.erf),
    unary("erfc", special.erfc),
    unary("ndtr", special.ndtr),
    unary("log_ndtr", special.log_ndtr),
    unary("ndtri", special.ndtri, 0.2),
    unary("expit", special.expit),
    Case("n", "polygamma(1, x)", lambda x: special.polygamma(1, x), low=0.2),
    # Closed forms, which JAX compiles sooner.
    Case("n", "betaln(x, 2)", lambda x: -jnp.log(x * (x + 1)), low=0.2),
    Case("n", "gammainc(2, x)", lambda x: 1 - (1 + x) * jnp.exp(-x), low=0.2),
    Case("n", "betainc(2, 2, x)", lambda x: x**2 * (3 - 2 * x), low=0.2),
    unary("i0e", special.i0e, 0.2),
    unary("i1e", special.i1e, 0.2),
    unary("lgamma", special.gammaln, 0.2),
    unary("digamma", special.digamma, 0.2),
    unary("floor", jnp.floor),
    unary("round", jnp.round),
    Case("n", "mod(x, y)", jnp.mod, "y n", low=0.2),
    Case("n", "floor_divide(x, y) + x**2", lambda x, y: x // y + x**2, "y n", low=0.2),
    unary("logit", special.logit, 0.2),
    Case("n", "atan2(x, y)", jnp.arctan2, "y n"),
    Case("n", "maximum(x, y)", jnp.maximum, "y n"),
    Case("n", "minimum(x, y)", jnp.minimum, "y n"),
    Case("n", "clip(x, 0.3, 0.6)", lambda x: jnp.clip(x, 0.3, 0.6)),
    Case("n", "where(x > y, x**2, x)", lambda x, y: jnp.where(x > y, x**2, x), "y n"),
    Case("n", "pow(x, y)", jnp.power, "y n"),
    Case("n", "hypot(x, y)", jnp.hypot, "y n"),
    Case("n", "logaddexp(x, y)", jnp.logaddexp, "y n"),
    Case("n", "xlogy(x, y)", special.xlogy, "y n"),
    Case("n", "xlogy(y, x)", lambda x, y: special.xlogy(y, x), "y n"),
    Case("n", "huber(x, 0.5)", lambda x: jnp.where(x < 0.5, x**2 / 2, x / 2 - 1 / 8)),
    Case("n", "leaky_relu(x, 0.1)", lambda x: jax.nn.leaky_relu(x, 0.1), low=-0.9),
]

REDUCTIONS = [
    Case("n m", "sum(x, axis=0)", lambda x: jnp.sum(x, 0)),
    Case("n m", "sum(x, axis=1, keepdims=True)", lambda x: x.sum(1, keepdims=True)),
    Case("n m p", "mean(x, axis=(0, 2))", lambda x: jnp.mean(x, (0, 2))),
    Case("n m", "prod(x, axis=-1)", lambda x: jnp.prod(x, -1)),
    Case("n m", "max(x, axis=0)", lambda x: jnp.max(x, 0)),
    Case("n m", "min(x)", jnp.min),
    Case("n m", "var(x, axis=1)", lambda x: jnp.var(x, 1)),
    Case("n m", "std(x, axis=1, ddof=1)", lambda x: jnp.std(x, 1, ddof=1)),
    Case("n m", "norm(x)", lambda x: jnp.sqrt(jnp.sum(x**2))),
    Case("n m", "norm(x, axis=1)", lambda x: jnp.linalg.norm(x, axis=1)),
    Case("n m", "norm(x, 1)", lambda x: jnp.sum(jnp.abs(x))),
    Case("n m", "norm(x, inf)", lambda x: jnp.max(jnp.abs(x))),
    Case("n m", "logsumexp(x, axis=1)", lambda x: special.logsumexp(x, 1)),
    Case("n m", "softmax(x, axis=0)", lambda x: jax.nn.softmax(x, 0)),
    Case("n m", "log_softmax(x, axis=1)", lambda x: jax.nn.log_softmax(x, 1)),
    Case("n m", "cumsum(x, axis=0)", lambda x: jnp.cumsum(x, 0)),
]

MATRICES = [
    Case("n m", "dot(x, B)**2", lambda x, B: jnp.dot(x, B) ** 2, "B m p"),
    Case("n m", "vdot(x, x)", lambda x: jnp.vdot(x, x)),
    Case("n", "outer(x, x)", lambda x: jnp.outer(x, x)),
    Case("n m", "kron(x, x)", lambda x: jnp.kron(x, x)),
    Case("n n", "trace(x @ x)", lambda x: jnp.trace(x @ x)),
    Case("n n", "tr(x @ x)", lambda x: jnp.trace(x @ x)),
    Case("n", "diag(x**2)", lambda x: jnp.diag(x**2)),
    Case("n n", "diag(x @ x)", lambda x: jnp.diag(x @ x)),
    Case("n m", "diagonal(x @ x.T)", lambda x: jnp.diagonal(x @ x.T)),
    Case("n n", "tril(x @ x)", lambda x: jnp.tril(x @ x)),
    Case("n n", "triu(x @ x, 1)", lambda x: jnp.triu(x @ x, 1)),
    Case("n m p", "transpose(x, (2, 0, 1))**2", lambda x: x.transpose(2, 0, 1) ** 2),
    Case("n n", "inv(eye(n) + x / 3)", lambda x: linalg.inv(jnp.eye(3) + x / 3)),
    Case(
        "n n",
        "inv(spd(x @ x.T + eye(n))) + inv(symmetric(x + x.T + 5 * eye(n)))",
        lambda x: linalg.inv(x @ x.T + jnp.eye(3))
        + linalg.inv(x + x.T + 5 * jnp.eye(3)),
    ),
    Case(
        "n",
        "stop_gradient(exp(x)) * x",
        lambda x: jax.lax.stop_gradient(jnp.exp(x)) * x,
    ),
    Case("m n n", "inv(eye(n) + x / 3)", lambda x: jnp.linalg.inv(jnp.eye(3) + x / 3)),
    Case(
        "n n",
        "solve(eye(n) + x / 3, y)",
        lambda x, y: linalg.solve(jnp.eye(3) + x / 3, y),
        "y n",
    ),
    Case("n n", "det(eye(n) + x)", lambda x: jnp.linalg.det(jnp.eye(3) + x)),
    Case("m n n", "det(eye(n) + x)", lambda x: jnp.linalg.det(jnp.eye(3) + x)),
    Case(
        "n n",
        "logdet(eye(n) + x / 3)",
        lambda x: jnp.linalg.slogdet(jnp.eye(3) + x / 3)[1],
    ),
    Case(
        "n n",
        "cholesky(eye(n) + x @ x.T)",
        lambda x: jnp.linalg.cholesky(jnp.eye(3) + x @ x.T),
    ),
    Case("n n", "expm(x / 2)", lambda x: linalg.expm(x / 2)),
    Case("3", "cross(x, x**2)", lambda x: jnp.cross(x, x**2)),
    Case(
        "n m",
        "einsum('ij,kj->ik', x, x)",
        lambda x: jnp.einsum("ij,kj->ik", x, x),
    ),
    Case(
        "n m p",
        "tensordot(x, x, ([0, 2], [0, 2]))",
        lambda x: jnp.tensordot(x, x, ([0, 2], [0, 2])),
    ),
    Case("n m", "matmul(x, x.T)", lambda x: jnp.matmul(x, x.T)),
]

MAKING = [
    Case("n", "eye(n) * x", lambda x: jnp.eye(3) * x),
    Case(
        "n", "ones(m, n) * x**2 + 0 * y[0]", lambda x, y: jnp.ones((2, 3)) * x**2, "y m"
    ),
    Case("n", "zeros(n) + x**2", lambda x: x**2),
    Case(
        "n",
        "full((m, n), 2) * x**2 + 0 * y[0]",
        lambda x, y: jnp.full((2, 3), 2.0) * x**2,
        "y m",
    ),
    Case("n", "arange(n) * x**2", lambda x: jnp.arange(3) * x**2),
    Case("n p", "reshape(x**2, [p, n])", lambda x: (x**2).reshape(4, 3)),
    Case("n p", "ravel(x**2)", lambda x: jnp.ravel(x**2)),
    Case("n", "concatenate([x, y, x**2])", lambda x, y: jnp.r_[x, y, x**2], "y m"),
    Case("n", "stack([x, x**2], axis=1)", lambda x: jnp.stack([x, x**2], axis=1)),
    Case("n", "expand_dims(x**2, 0)", lambda x: jnp.expand_dims(x**2, 0)),
    Case("n 1", "squeeze(x**2)", lambda x: jnp.squeeze(x**2)),
    Case(
        "n",
        "broadcast_to(x**2, (m, n)) + 0 * y[0]",
        lambda x, y: jnp.broadcast_to(x**2, (2, 3)),
        "y m",
    ),
    Case("n m", "flip(x**2, axis=0)", lambda x: jnp.flip(x**2, axis=0)),
    Case("n m", "diff(x**2)", lambda x: jnp.diff(x**2)),
    Case("n m", "pad(x**2, 1)", lambda x: jnp.pad(x**2, 1)),
    Case("n m", "repeat(x**2, 2, axis=1)", lambda x: jnp.repeat(x**2, 2, axis=1)),
    Case("n m", "tile(x**2, (2, 1))", lambda x: jnp.tile(x**2, (2, 1))),
    Case("n m", "roll(x**2, 1, axis=0)", lambda x: jnp.roll(x**2, 1, axis=0)),
]

CASES = [*ELEMENTWISE, *REDUCTIONS, *MATRICES, *MAKING]


@pytest.mark.parametrize(
    "case", sampled(CASES, 3), ids=lambda case: f"{case.expr} {case.shape}"
)
def test_a_function_and_its_derivatives_agree_with_jax(case: Case) -> None:
    check(case)


def test_every_function_of_the_language_has_a_case() -> None:
    tested = " ".join(case.expr for case in CASES)
    # The composite functions of the prelude are tried in tests/operators, as are some
    # others: against NumPy and SciPy, with derivatives by complex steps.
    own = ("test_spec_list.py", "test_functions.py")
    texts = ((Path(__file__).parent / "operators" / x).read_text("utf-8") for x in own)
    known = {*re.findall(r"\w+", " ".join(texts))}
    missing = [x for x in FUNCTIONS if f"{x}(" not in tested and x not in known]
    assert missing == []
