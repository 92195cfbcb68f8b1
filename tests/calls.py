"""Calling whatever a generated module offers, and comparing what it gives."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.device.cases import CASES, Case
from tests.device.library import execute

Arrays = dict[str, Any]


def specs(cases: Sequence[Any] = CASES) -> pytest.MarkDecorator:
    """One test a case."""
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def functions(module: ModuleType) -> list[str]:
    """The names of all generated functions."""
    return [name for name in module.__all__ if inspect.isfunction(vars(module)[name])]


def arguments(module: ModuleType, name: str, inputs: Arrays) -> Arrays:
    """Copies of the arguments of a function, directions and cotangents included."""
    found: Arrays = {}
    for parameter, told in inspect.signature(vars(module)[name]).parameters.items():
        if parameter in inputs:
            value = inputs[parameter]
            found[parameter] = value.copy() if hasattr(value, "copy") else value
        elif parameter == "ct":
            found["ct"] = _cotangent(module, name.removesuffix("_vjp"), inputs)
        elif f"{parameter}_solve" in module.__all__:
            solve = f"{parameter}_solve"
            found[parameter] = vars(module)[solve](**arguments(module, solve, inputs))
        elif told.default is told.empty:
            found[parameter] = np.asarray(np.cos(inputs[parameter[1:]]))
    return found


def _cotangent(module: ModuleType, function: str, inputs: Arrays) -> Any:
    value = vars(module)[function](**arguments(module, function, inputs))
    weights = np.sin(np.arange(np.size(value)) + 1.0).reshape(np.shape(value))
    return weights.astype(np.asarray(value).dtype)


def problems(module: ModuleType, inputs: Arrays) -> Iterator[tuple[str, Any, Any]]:
    """The problem classes by name, each bound to its data, and a vector."""
    for name in module.__all__:
        if name.endswith("Problem"):
            cls = vars(module)[name]
            data, unknowns = (
                {x: inputs[x] for x in inspect.signature(f).parameters if x in inputs}
                for f in (cls.__init__, cls.pack)
            )
            problem = cls(**data)
            yield name, problem, problem.pack(**unknowns)


def objects(result: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """The derivative objects of a result, with those that they are made of."""
    if isinstance(result, tuple):
        for k, part in enumerate(result):
            yield from objects(part, f"{where}[{k}]")
    elif isinstance(result, dict):
        for key, part in result.items():
            yield from objects(part, f"{where}[{key!r}]")
    elif hasattr(result, "dense"):
        yield where, result
        for name in ("blocks", "parts"):
            yield from objects(getattr(result, name, None), f"{where}.{name}")


def arrays(result: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """The arrays of a result, those that objects hold or give included."""
    if isinstance(result, np.ndarray | np.generic):
        yield where, result
    elif isinstance(result, tuple | list):
        for k, part in enumerate(result):
            yield from arrays(part, f"{where}[{k}]")
    elif isinstance(result, dict):
        for key, part in result.items():
            yield from arrays(part, f"{where}[{key!r}]")
    elif hasattr(result, "dense"):
        yield from arrays(given(result), where)


def given(derivative: Any) -> dict[str, Any]:
    """What the methods of a derivative object give."""
    found = {"factors": derivative.factors, "dense": derivative.dense()}
    if hasattr(derivative, "contract"):
        axes = np.shape(derivative.dense())
        last = getattr(derivative, "axes", None)
        count = last[-1] if last else len(derivative.columns[-1])
        v = np.cos(np.arange(np.prod(axes[len(axes) - count :], dtype=int)))
        return found | {"contract": derivative.contract(v)}
    rows, columns = derivative.shape
    v = np.cos(np.arange(columns * 2.0)).reshape(columns, 2).astype(derivative.dtype)
    u = np.sin(np.arange(1.0 * rows)).astype(derivative.dtype)
    found |= {"matvec": derivative @ v, "rmatvec": derivative.rmatvec(u)}
    found |= {"coo": derivative.coo(), "matrix": np.asarray(derivative)}
    if hasattr(derivative, "solve"):
        found["diagonal"] = derivative.diagonal()
        found["lower"] = derivative.coo(lower=True)
        found["factorization"] = solved(derivative.factorize(regular(derivative)), u)
    return found


def regular(hessian: Any) -> float:
    """A shift that makes a Hessian definite."""
    return 1.0 + float(np.max(np.abs(hessian.matrix).sum(axis=1), initial=0.0))


def solved(factorization: Any, b: Any) -> list[Any]:
    """What a factorization gives."""
    sign = np.asarray(factorization.is_posdef)
    return [factorization.solve(b), np.asarray(factorization.logdet), sign]


def same(want: Any, got: Any, where: str = "", rtol: float = 0.0) -> None:
    """Require equal arrays, to the last digit unless `rtol` says otherwise."""
    found, wanted = dict(arrays(got)), dict(arrays(want))
    assert found.keys() == wanted.keys(), where
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype, where + name
        np.testing.assert_allclose(found[name], array, rtol, rtol, err_msg=where + name)


class Loaded:
    """The module of a case for NumPy, and arguments for it."""

    def __init__(self, case: Case) -> None:
        """Generate and execute the module."""
        self.module = execute(case.sources()[0])
        self.inputs = case.arguments()
        self.names = functions(self.module)

    def arguments(self, name: str) -> Arrays:
        """New arguments for a function."""
        return arguments(self.module, name, self.inputs)

    def call(self, name: str) -> Any:
        """The result of a function."""
        return vars(self.module)[name](**self.arguments(name))
