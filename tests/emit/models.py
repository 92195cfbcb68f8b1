"""Hand-written models of modules, as lowering would make them."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType

from tensorgen.calculus.kinds import GRADIENT, KINDS, VALUE
from tensorgen.emit.bound_problems import BoundFunction, Part
from tensorgen.emit.interface import Body, Function, Helper, Parameter
from tensorgen.emit.module import Module
from tensorgen.emit.render import render
from tensorgen.ir.dims import Dim

M, N, K = map(Dim.symbol, "mnk")
_COUNTER = itertools.count()


def body(*lines: str, returns: str | Sequence[str], dims: str = "") -> Body:
    """Make a body; `returns` is one expression or several."""
    values = (returns,) if isinstance(returns, str) else tuple(returns)
    return Body(lines, values, tuple(dims.split()))


def module(
    *functions: Function,
    backend: str = "numpy",
    problems: Sequence[str] = (),
    helpers: Sequence[Helper] = (),
    doc: str | None = None,
    spec_name: str = "sample.yaml",
) -> Module:
    """Make a module of functions, whose bodies are spelled for the backend here."""
    spelled = tuple(_spelled(f, backend) for f in functions)
    return Module(
        name="sample",
        spec_name=spec_name,
        spec_hash="0123456789abcdef",
        version="0.0",
        backend=backend,
        functions=spelled,
        doc=doc,
        helpers=tuple(helpers),
        problems=tuple(bound(name, spelled) for name in problems),
    )


def bound(name: str, functions: Sequence[Function]) -> BoundFunction:
    """Bind a function to its data; its methods share nothing."""
    kinds = {f.kind.name: f for f in functions if f.function == name}
    value = kinds["value"]
    inputs = tuple(p for p in value.parameters if p.role == "input")
    reads = tuple(p.name for p in inputs)
    methods = [Part(VALUE, value.body, reads)]
    if "value_and_gradient" in kinds:
        both = kinds["value_and_gradient"].body
        gradient = replace(both, returns=both.returns[1:])
        methods.append(Part(GRADIENT, gradient, reads))
    for kind in ("jacobian", "hessian", "hvp"):
        if kind in kinds:
            made = None if kind == "hvp" else kinds[kind]
            methods.append(Part(KINDS[kind], kinds[kind].body, reads, function=made))
    directions = tuple(f"d{x}" for x in value.wrt)
    return BoundFunction(name, inputs, value.wrt, (), (), tuple(methods), directions)


def _spelled(function: Function, backend: str) -> Function:
    if backend == "numpy":
        return function
    rows, values = (
        tuple(text.replace("np.", "cp.") for text in texts)
        for texts in (function.body.lines, function.body.returns)
    )
    return replace(function, body=replace(function.body, lines=rows, returns=values))


rendered = functools.cache(render)


def load(model: Module) -> ModuleType:
    """Render a module and execute it."""
    name = f"rendered_{next(_COUNTER)}"
    result = ModuleType(name)
    sys.modules[name] = result  # for pickle
    exec(compile(rendered(model), name, "exec"), result.__dict__)
    return result


# Penalised logistic regression.

W = Parameter("w", (N,))
LOGISTIC = (
    W,
    Parameter("X", (M, N), doc="data matrix, one sample a row"),
    Parameter("y", (M,)),
    Parameter("lam", (), default="0.001"),
)
_T = "t = -y * (X @ w)"
_LOSS = "np.logaddexp(0, t).sum() + lam * (w @ w)"
_P = "p = 1 / (1 + np.exp(-t))"
_GRADIENT = "2 * lam * w - X.T @ (y * p)"
_HESSIAN = "X.T @ ((p * (1 - p))[:, None] * X) + 2 * lam * np.eye(n)"


def logistic(kind: str, a_body: Body, *extra: Parameter) -> Function:
    """Make a function of the logistic module."""
    return Function(
        function="loss",
        kind=KINDS[kind],
        parameters=(*LOGISTIC, *extra),
        wrt=("w",),
        dims=(),
        body=a_body,
        doc="Penalised negative log-likelihood.",
        formula=("loss = sum(log(1 + exp(t))) + lam*norm(w)**2",),
    )


def logistic_module(backend: str = "numpy", problems: Sequence[str] = ()) -> Module:
    """Make the module of logistic regression, with all that its spec emits."""
    gradient = (_LOSS, _GRADIENT)
    functions = [
        logistic("value", body(_T, returns=_LOSS)),
        logistic("gradient", body(_T, _P, returns=_GRADIENT)),
        logistic("value_and_gradient", body(_T, _P, returns=gradient)),
        logistic("hessian", body(_T, _P, returns=_HESSIAN, dims="n")),
        logistic(
            "value_gradient_hessian",
            body(_T, _P, returns=(*gradient, _HESSIAN), dims="n"),
        ),
        logistic("dense_hessian", body(_T, _P, returns=_HESSIAN, dims="n")),
        logistic(
            "hvp",
            body(_T, _P, returns="X.T @ (p * (1 - p) * (X @ dw)) + 2 * lam * dw"),
            Parameter("dw", (N,), role="direction"),
        ),
    ]
    return module(*functions, backend=backend, problems=problems)


# Matrix factorisation: two inputs, sum((T - U V')**2).

_FACTORS = (
    Parameter("T", (M, N)),
    Parameter("U", (M, K)),
    Parameter("V", (N, K)),
)
_R = "R = T - U @ V.T"
_R_U, _R_V = "-2 * R @ V", "-2 * R.T @ U"
_H_UU = "2 * np.einsum('jk,jl,ac->akcl', V, V, np.eye(m))"
_H_UV = (
    "2 * np.einsum('jk,il->ikjl', V, U) - 2 * np.einsum('ij,kl->ikjl', R, np.eye(k))"
)
_H_VV = "2 * np.einsum('ik,il,ac->akcl', U, U, np.eye(n))"


def factorization(kind: str, a_body: Body, *extra: Parameter) -> Function:
    """Make a function of the matrix factorisation module."""
    return Function(
        function="fit",
        kind=KINDS[kind],
        parameters=(*_FACTORS, *extra),
        wrt=("U", "V"),
        dims=(),
        body=a_body,
    )


def factorization_module(
    backend: str = "numpy", problems: Sequence[str] = ()
) -> Module:
    """Make the module of matrix factorisation with respect to both factors."""
    value, gradient = "np.vdot(R, R)", (_R_U, _R_V)
    blocks = ("H", _H_UV, _H_VV)
    lines = (_R, f"H = {_H_UU}")
    d_r = "dR = -(dU @ V.T) - U @ dV.T"
    along = ("-2 * dR @ V - 2 * R @ dV", "-2 * dR.T @ U - 2 * R.T @ dU")
    directions = (
        Parameter("dU", (M, K), role="direction"),
        Parameter("dV", (N, K), role="direction"),
    )
    cotangent = Parameter("ct", (), role="cotangent")
    pulled = tuple(f"ct * ({g})" for g in gradient)
    functions = [
        factorization("value", body(_R, returns=value)),
        factorization("gradient", body(_R, returns=gradient)),
        factorization("value_and_gradient", body(_R, returns=(value, *gradient))),
        factorization("hessian", body(*lines, returns=blocks, dims="m n k")),
        factorization(
            "value_gradient_hessian",
            body(*lines, returns=(value, *gradient, *blocks), dims="m n k"),
        ),
        factorization("dense_hessian", body(*lines, returns=blocks, dims="m n k")),
        factorization("hvp", body(_R, d_r, returns=along), *directions),
        factorization(
            "jvp",
            body(_R, d_r, returns=(value, "2 * np.vdot(R, dR)")),
            *directions,
        ),
        factorization("vjp", body(_R, returns=(value, *pulled)), cotangent),
        factorization("jacobian", body(_R, returns=gradient)),
        factorization("dense_jacobian", body(_R, returns=gradient)),
    ]
    return module(*functions, backend=backend, problems=problems)
