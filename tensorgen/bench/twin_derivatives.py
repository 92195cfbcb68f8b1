"""Derivatives of twins: each kind as a user of JAX asks for it, compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tensorgen.bench.twin import NoTwinError, Twin
from tensorgen.calculus.kinds import Kind
from tensorgen.ir.nodes import topological
from tensorgen.lang import ElaboratedFunction
from tensorgen.operators.references import Array
from tensorgen.verify.cases import Case

Value = Callable[..., Array]

LARGEST = 100_000_000
"""The most numbers that JAX may store of one array of derivatives."""


class Twins:
    """What JAX computes of one function at one point."""

    def __init__(self, function: ElaboratedFunction, case: Case) -> None:
        """Translate the function; raises `NoTwinError`."""
        import jax

        jax.config.update("jax_enable_x64", True)
        if function.results:
            raise NoTwinError("functions with several results are not translated")
        if function.metrics or any(x.subspace for x in function.spec.wrt):
            raise NoTwinError("JAX differentiates on no subspace, in no metric")
        self._twin = Twin([function.node], case.sizes)
        self._wrt = tuple(x.name for x in function.spec.wrt)
        self._x = {name: jax.numpy.asarray(case.values[name]) for name in self._wrt}
        self._data = {
            name: jax.numpy.asarray(value)
            for name, value in case.values.items()
            if name not in self._wrt
        }
        self._batch = {x.name for x in function.arguments if x.batch is not None}
        size = function.batch
        self._samples = 1 if size is None else size.value(case.sizes)
        self._shape = self._twin.lengths(function.node.dims)
        self._largest = max(
            int(np.prod(self._twin.lengths(node.dims), dtype=int))
            for node in topological([function.node])
        )

    def task(self, kind: Kind, given: Mapping[str, Array]) -> Callable[[], Any]:
        """Return what computes a kind; raises `NoTwinError`.

        `given` are the direction, by its inputs, or the cotangent.
        """
        import jax

        self._fits(kind)
        function = jax.jit(self._of_all(self._function(kind), kind))
        more = [jax.numpy.asarray(x) for x in given.values()]
        along: Any = more
        if kind.argument == "direction":
            along = dict(zip(self._wrt, more, strict=True))
        elif kind.argument == "cotangent":
            (along,) = more

        def run() -> Any:
            return jax.block_until_ready(function(self._x, self._data, along))

        return run

    def _of_all(self, of_one: Value, kind: Kind) -> Value:
        """What computes a kind, for each sample of a batch."""
        import jax

        if not self._batch:
            return of_one
        x, data = (
            {name: 0 if name in self._batch else None for name in given}
            for given in (self._x, self._data)
        )
        along: Any = {"direction": x, "cotangent": 0}.get(kind.argument)
        found: Value = jax.vmap(of_one, (x, data, along))
        return found

    def _variables(self) -> int:
        """How many numbers a sample is differentiated by."""
        return sum(
            x.size // (self._samples if name in self._batch else 1)
            for name, x in self._x.items()
        )

    def _fits(self, kind: Kind) -> None:
        variables = self._variables()
        outputs = int(np.prod(self._shape, dtype=int))
        # A tangent of each value for each column, all at once: that is how JAX does it.
        columns = self._largest * variables
        numbers = {
            1: min(columns, outputs * max(self._largest, variables)),
            2: max(columns, outputs * variables**2),
        }
        order = {"jacobian": 1, "dense_jacobian": 1, "hessian": 2, "dense_hessian": 2}
        for part in kind.plain_parts:
            most = LARGEST // max(self._samples, 1)
            if numbers.get(order.get(part.name, 0), 0) > most:
                raise NoTwinError("its derivative is too large to be stored dense")

    def _value(self, x: Any, data: Any) -> Array:
        (found,) = self._twin({**x, **data})
        return found

    def _function(self, kind: Kind) -> Callable[[Any, Any, Any], Any]:
        import jax

        value = self._value
        wide = self._variables() > np.prod(self._shape, dtype=int)
        jacobian = (jax.jacrev if wide else jax.jacfwd)(value)

        def hvp(x: Any, data: Any, d: Any) -> Any:
            gradient = jax.grad(lambda own: value(own, data))
            return (jax.jvp(gradient, (x,), (d,))[1],)

        def jvp(x: Any, data: Any, d: Any) -> Any:
            return jax.jvp(lambda own: value(own, data), (x,), (d,))

        def vjp(x: Any, data: Any, ct: Any) -> Any:
            found, back = jax.vjp(lambda own: value(own, data), x)
            return found, back(ct)[0]

        def both(x: Any, data: Any, _: Any) -> Any:
            return jax.value_and_grad(value)(x, data)

        def all_three(x: Any, data: Any, _: Any) -> Any:
            return *jax.value_and_grad(value)(x, data), jax.hessian(value)(x, data)

        rows: Mapping[str, Callable[[Any, Any, Any], Any]] = {
            "value": lambda x, data, _: (value(x, data),),
            "gradient": lambda x, data, _: (jax.grad(value)(x, data),),
            "value_and_gradient": both,
            "jacobian": lambda x, data, _: (jacobian(x, data),),
            "dense_jacobian": lambda x, data, _: (jacobian(x, data),),
            "hessian": lambda x, data, _: (jax.hessian(value)(x, data),),
            "dense_hessian": lambda x, data, _: (jax.hessian(value)(x, data),),
            "value_gradient_hessian": all_three,
            "hvp": hvp,
            "jvp": jvp,
            "vjp": vjp,
        }
        if kind.name not in rows:
            raise NoTwinError("this kind of derivative is not translated")
        return rows[kind.name]

    def numbers(self, kind: Kind, found: Sequence[Any]) -> list[Array]:
        """Return what was computed as arrays: one for each input, or pair of them."""
        own = kind.plain_parts
        arrays: list[Array] = []
        for part, one in zip(own, found, strict=True):
            if part.by == "nothing":
                arrays.append(np.asarray(one))
            elif part.by == "each":
                arrays += [np.asarray(one[x]) for x in self._wrt]
            else:
                arrays += [np.asarray(one[a][b]) for a in self._wrt for b in self._wrt]
        return arrays
