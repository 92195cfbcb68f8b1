"""Comparing what a module for CuPy gives with what the one for NumPy gives."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from tests.device.cases import Case

# Relative to the largest entry; solving multiplies by the condition.
TOLERANCE = {"float64": 1e-11, "float32": 2e-4}


class Pair:
    """The two modules of a case, and its arguments on the host and on the device."""

    def __init__(
        self,
        case: Case,
        ours: ModuleType,
        theirs: ModuleType,
        cupy: ModuleType,
        dtype: str = "float64",
    ) -> None:
        self.case = case
        self.ours = ours
        self.theirs = theirs
        self.cupy = cupy
        self.dtype = dtype
        self.host = case.arguments(dtype)
        self.tolerance = TOLERANCE[dtype]

    def on_device(self, value: Any) -> Any:
        """Copy an array to the device; numbers stay numbers."""
        return self.cupy.asarray(value) if isinstance(value, np.ndarray) else value

    def functions(self) -> Iterator[str]:
        """The names of all generated functions."""
        for name in self.ours.__all__:
            if inspect.isfunction(getattr(self.ours, name)):
                yield name

    def arguments(self, name: str) -> dict[str, Any]:
        """Arguments on the host for a function, directions and cotangents included."""
        found: dict[str, Any] = {}
        function = getattr(self.ours, name)
        for parameter, told in inspect.signature(function).parameters.items():
            if parameter in self.host:
                found[parameter] = self.host[parameter]
            elif parameter == "ct":
                found["ct"] = self._cotangent(name)
            elif f"{parameter}_solve" in self.ours.__all__:
                solve = f"{parameter}_solve"
                found[parameter] = getattr(self.ours, solve)(**self.arguments(solve))
            elif told.default is told.empty:
                found[parameter] = np.asarray(np.cos(self.host[parameter[1:]]))
        return found

    def _cotangent(self, name: str) -> Any:
        function = getattr(self.ours, name.removesuffix("_vjp"))
        value = function(**self.arguments(function.__name__))
        return (
            np.sin(np.arange(np.size(value)) + 1.0)
            .reshape(np.shape(value))
            .astype(self.dtype)
        )

    def call(self, name: str) -> tuple[Any, Any]:
        """The results of a function of both modules."""
        given = self.arguments(name)
        theirs = {key: self.on_device(value) for key, value in given.items()}
        return getattr(self.ours, name)(**given), getattr(self.theirs, name)(**theirs)

    # What follows raises AssertionError, and says where.

    def same(self, want: Any, got: Any, where: str, tolerance: float = 0.0) -> None:
        """Compare results of any kind."""
        if isinstance(want, dict):
            assert list(want) == list(got), where
            for key in want:
                self.same(want[key], got[key], f"{where}[{key!r}]", tolerance)
        elif isinstance(want, tuple):
            assert type(want).__name__ == type(got).__name__, where
            for k, (a, b) in enumerate(zip(want, got, strict=True)):
                self.same(a, b, f"{where}[{k}]", tolerance)
        elif hasattr(want, "contract"):
            self._derivative(want, got, where)
        elif hasattr(want, "dense"):
            self._matrix(want, got, where)
        else:
            self._array(want, got, where, tolerance or self.tolerance)

    def _array(self, want: Any, got: Any, where: str, tolerance: float) -> None:
        assert isinstance(got, self.cupy.ndarray), f"{where} is not on the device"
        on_host, want = got.get(), np.asarray(want)
        assert on_host.shape == want.shape, where
        assert on_host.dtype == want.dtype, where
        scale = np.nanmax(np.abs(want[np.isfinite(want)]), initial=1.0)
        # Where one has no value, the other has none.
        other = (on_host != want) & ~(np.isnan(on_host) & np.isnan(want))
        error = np.max(np.abs(on_host[other] - want[other]), initial=0.0)
        assert error <= tolerance * scale, f"{where} is off by {error:.1e}"

    def _derivative(self, want: Any, got: Any, where: str) -> None:
        assert got.structure == want.structure, where
        assert got.tensor_shape == want.tensor_shape, where
        assert got.nbytes == want.nbytes, where
        self.same(want.factors, got.factors, f"{where}.factors")
        self.same(want.dense(), got.dense(), f"{where}.dense()")
        axes = want.axes[-1] if hasattr(want, "axes") else len(want.columns[-1])
        shape = want.tensor_shape[len(want.tensor_shape) - axes :]
        v = np.cos(np.arange(np.prod(shape, dtype=int))).astype(self.dtype)
        contracted = got.contract(self.on_device(v))
        self.same(want.contract(v), contracted, f"{where}.contract()")

    def _matrix(self, want: Any, got: Any, where: str) -> None:
        for name in ("structure", "tensor_shape", "shape", "dtype", "nbytes"):
            assert getattr(got, name) == getattr(want, name), f"{where}.{name}"
        self.same(want.factors, got.factors, f"{where}.factors")
        self.same(want.dense(), got.dense(), f"{where}.dense()")
        self.same(want.coo(), got.coo(), f"{where}.coo()")
        rows, columns = want.shape
        v = np.cos(np.arange(columns * 2.0)).reshape(columns, 2).astype(self.dtype)
        u = np.sin(np.arange(1.0 * rows)).astype(self.dtype)
        self.same(want @ v, got @ self.on_device(v), f"{where} @ v")
        transposed = got.rmatvec(self.on_device(u))
        self.same(want.rmatvec(u), transposed, f"{where}.rmatvec()")
        if hasattr(want, "solve"):
            self._hessian(want, got, where)

    def _hessian(self, want: Any, got: Any, where: str) -> None:
        self.same(want.diagonal(), got.diagonal(), f"{where}.diagonal()")
        self.same(want.coo(lower=True), got.coo(lower=True), f"{where}.coo(True)")
        for pair, block in getattr(want, "blocks", {}).items():
            self._matrix(block, got.blocks[pair], f"{where}.blocks[{pair!r}]")
        size = want.shape[0]
        shape = want.tensor_shape[: len(want.tensor_shape) // 2]
        H = np.asarray(want.dense(), float).reshape(size, size)
        b = np.sin(np.arange(2.0 * size)).reshape(size, 2).astype(self.dtype)
        shift = 1.0 + float(np.max(np.abs(H).sum(axis=1), initial=0.0))
        for added in (0.0, shift):
            condition = np.linalg.cond(H + added * np.eye(size)) if size else 1.0
            if condition > 1e-2 / self.tolerance:
                continue  # what is left of the digits depends on the order of sums
            tolerance = 100 * condition * self.tolerance
            ours, theirs = want.factorize(added), got.factorize(added)
            at = f"{where}.factorize({added})"
            for right in (b, b[:, 0], b[:, 0].reshape(shape)):
                solution = theirs.solve(self.on_device(right))
                self.same(ours.solve(right), solution, f"{at}.solve()", tolerance)
            logdets = np.asarray(ours.logdet), self.cupy.asarray(theirs.logdet)
            assert abs(logdets[1].get() - logdets[0]) <= size * tolerance, at
            assert theirs.is_posdef is ours.is_posdef, at
