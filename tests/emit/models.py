"""Hand-written models of modules, as lowering would make them."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from types import ModuleType

from tensorgen.emit.model import Body, Function, Kind, Module, Parameter
from tensorgen.emit.render import render
from tensorgen.ir.dims import Dim

M, N, K = map(Dim.symbol, "mnk")
_COUNTER = itertools.count()


def body(*lines: str, returns: str | Sequence[str], dims: str = "") -> Body:
    """Make a body; `returns` is one expression or several."""
    values = (returns,) if isinstance(returns, str) else tuple(returns)
    return Body(lines, values, tuple(dims.split()))


def module(
    *functions: Function, backend: str = "numpy", problems: Sequence[str] = ()
) -> Module:
    """Make a module of functions."""
    return Module(
        name="sample",
        spec_name="sample.yaml",
        spec_hash="0123456789abcdef",
        version="0.0",
        backend=backend,
        functions=functions,
        problems=tuple(problems),
    )


def load(model: Module) -> ModuleType:
    """Render a module and execute it."""
    name = f"rendered_{next(_COUNTER)}"
    result = ModuleType(name)
    sys.modules[name] = result  # dataclasses look their module up
    exec(compile(render(model), name, "exec"), result.__dict__)
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


def logistic(kind: Kind, a_body: Body, *extra: Parameter) -> Function:
    """Make a function of the logistic module."""
    return Function(
        function="loss",
        kind=kind,
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
