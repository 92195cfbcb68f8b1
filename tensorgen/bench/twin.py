"""Nodes in `jax.numpy`: what a function means, for JAX to compile and differentiate.

Nodes are those before any pass, stable forms included; a product is one `einsum`, a
recurrence one `scan`, a solution of a linear system no inverse. So JAX gets what a user
of it would write, and no more of our work than that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from tensorgen.bench.products import Product as Contraction
from tensorgen.bench.tables import functions, operators
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Input,
    Iota,
    Map,
    Node,
    Product,
    Size,
    Sum,
    topological,
)
from tensorgen.operators.recurrences.recurrence import NAME as RECURRENCE
from tensorgen.operators.recurrences.recurrence import Recurrence, everything

Array = Any


class NoTwinError(Exception):
    """What JAX has no counterpart of."""


class Twin:
    """The values of nodes in JAX, as a function of arguments that can be traced."""

    def __init__(self, nodes: Sequence[Node], sizes: Mapping[str, int]) -> None:
        """Refuse what the tables lack; raises `NoTwinError`."""
        import jax.numpy as jnp

        self._jnp, self._nodes, self._sizes = jnp, nodes, sizes
        self._functions, self._operators = functions(), operators()
        for node in everything(topological(nodes)):
            if isinstance(node, Map) and node.function not in self._functions:
                raise NoTwinError(f"JAX lacks '{node.function}'")
            if isinstance(node, Call):
                self._look(node)

    def _look(self, node: Call) -> None:
        if node.operator == RECURRENCE:
            if Recurrence.of(node).steps.runs is not None:
                raise NoTwinError("steps in runs are not translated")
        elif node.operator == "unknown":
            raise NoTwinError("what solves an equation is not translated")
        elif node.operator == "external":
            raise NoTwinError("functions from outside are not translated")
        elif node.operator not in self._operators:
            raise NoTwinError(f"JAX lacks '{node.operator}'")

    def __call__(self, given: Mapping[str, Array]) -> list[Array]:
        """Return the values of the nodes for the named arguments."""
        return self._evaluated(self._nodes, given)

    def _evaluated(
        self, nodes: Sequence[Node], given: Mapping[str, Array]
    ) -> list[Array]:
        values: dict[Node, Array] = {}
        scans: dict[object, Any] = {}
        for node in topological(nodes):
            values[node] = self._value(node, given, values, scans)
        return [values[node] for node in nodes]

    def lengths(self, dims: Sequence[Dim]) -> tuple[int, ...]:
        """The lengths of axes."""
        return tuple(dim.value(self._sizes) for dim in dims)

    def _value(
        self,
        node: Node,
        given: Mapping[str, Array],
        values: Mapping[Node, Array],
        scans: dict[object, Any],
    ) -> Array:
        jnp = self._jnp
        match node:
            case Input():
                return jnp.asarray(given[node.name])
            case Constant():
                return jnp.asarray(getattr(jnp, node.name), float)
            case Size():
                return jnp.asarray(float(self.lengths([node.value])[0]))
            case Iota():
                return jnp.arange(self.lengths(node.dims)[0]) * 1.0
            case Product():
                return Contraction(node, self._sizes, values).value()
            case Sum():
                total = jnp.zeros(self.lengths(node.dims))
                for term in node.terms:
                    own = aligned(values[term.node], term.labels, node.order)
                    total = total + float(term.coefficient) * own
                return total
            case Map():
                args = [aligned(values[x], own, node.order) for x, own in node.args]
                found = self._functions[node.function](*args)
                return jnp.broadcast_to(found, self.lengths(node.dims))
            case Call(operator="recurrence"):
                return self._recurrence(node, values, scans)
            case Call():
                own = [values[x] for x in node.args]
                params = {name: self._number(x) for name, x in node.params}
                return self._operators[node.operator](*own, **params)
            case _:
                assert_never(node)

    def _number(self, parameter: object) -> object:
        """A parameter of a call, with numbers for the dims in it."""
        if isinstance(parameter, tuple):
            return tuple(map(self._number, parameter))
        return self.lengths([parameter])[0] if isinstance(parameter, Dim) else parameter

    def _recurrence(
        self, node: Call, values: Mapping[Node, Array], scans: dict[object, Any]
    ) -> Array:
        """A result of steps, which all results of the same ones share."""
        own = Recurrence.of(node)
        key = (own.steps, node.args)
        if key not in scans:
            scans[key] = self._scanned(own, [values[x] for x in node.args])
        last, histories, made = scans[key]
        result, whole = node.param("result"), node.param("whole")
        assert isinstance(result, int)
        count = len(own.steps.states)
        if not whole:
            return last[result]
        return histories[result] if result < count else made[result - count]

    def _scanned(self, own: Recurrence, args: list[Array]) -> Any:
        import jax

        steps, jnp = own.steps, self._jnp
        first, second = len(steps.states), len(steps.states) + len(steps.items)
        names = [place.name for place in steps.places]
        fixed = args[second:]

        def step(states: Any, rows: Any) -> Any:
            given = dict(zip(names, [*states, *rows, *fixed], strict=True))
            found = self._evaluated([*steps.new, *steps.made], given)
            new, made = tuple(found[:first]), tuple(found[first:])
            return new, (new, made)

        (count,) = self.lengths([steps.count])
        start = tuple(jnp.asarray(x, float) for x in args[:first])
        rows = tuple(x[:count] for x in args[first:second])
        last, (after, made) = jax.lax.scan(
            step, start, rows, length=count, reverse=steps.backwards
        )
        histories = []
        for first_one, others in zip(start, after, strict=True):
            parts = [first_one[None], others]
            histories.append(jnp.concatenate(parts[:: -1 if steps.backwards else 1]))
        return last, histories, made


def aligned(value: Array, labels: Sequence[int], order: int) -> Array:
    """Return an operand with an axis a label, of length 1 where it lacks one."""
    import jax.numpy as jnp

    every = sorted({*labels})
    if tuple(every) != tuple(labels):
        value = jnp.einsum(value, list(labels), every)
    own = iter(value.shape)
    return value.reshape([next(own) if x in every else 1 for x in range(order)])
