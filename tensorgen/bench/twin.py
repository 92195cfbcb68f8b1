"""Nodes in `jax.numpy`: what a function means, for JAX to compile and differentiate.

Nodes are those before any pass, stable forms included; a product is one `einsum`, a
recurrence one `scan`, a solution of a linear system no inverse. So JAX gets what a user
of it would write, and no more of our work than that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from tensorgen.bench.twin_functions import functions, operators
from tensorgen.bench.twin_products import Product as Contraction
from tensorgen.fields.doubles import Doubles, Tabled
from tensorgen.ir.nodes import Call, Input, Map, Node, Product, topological
from tensorgen.operators.recurrences.recurrence import (
    Recurrence,
    everything,
    is_recurrence,
    result_of,
)
from tensorgen.operators.references import Array


class NoTwinError(Exception):
    """What JAX has no counterpart of."""


class Twin(Tabled):
    """The values of nodes in JAX, as a function of arguments that can be traced."""

    def __init__(self, nodes: Sequence[Node], sizes: Mapping[str, int]) -> None:
        """Refuse what the tables lack; raises `NoTwinError`."""
        import jax.numpy as jnp

        field = Doubles(functions(), operators(), jnp)
        super().__init__(field, sizes, dict[Input, Array]().__getitem__)
        self._nodes = nodes
        self._scans: dict[object, Any] = {}
        for node in everything(topological(nodes)):
            if isinstance(node, Map) and node.function not in self.field.functions:
                raise NoTwinError(f"JAX lacks '{node.function}'")
            if isinstance(node, Call):
                self._look(node)

    def _look(self, node: Call) -> None:
        if is_recurrence(node):
            if Recurrence.of(node).steps.runs is not None:
                raise NoTwinError("steps in runs are not translated")
        elif node.operator == "unknown":
            raise NoTwinError("what solves an equation is not translated")
        elif node.operator == "external":
            raise NoTwinError("functions from outside are not translated")
        elif node.operator not in self.field.operators:
            raise NoTwinError(f"JAX lacks '{node.operator}'")

    def __call__(self, given: Mapping[str, Array]) -> list[Array]:
        """Return the values of the nodes for the named arguments."""
        own = self.inside(self.sizes, lambda node: given[node.name])
        return own.all(self._nodes)

    def inside(self, sizes: Mapping[str, int], given: Callable[[Input], Array]) -> Self:
        """The same where inputs have other values, and what is scanned too."""
        inner = super().inside(sizes, given)
        inner._scans = {}
        return inner

    def product(self, node: Product) -> Array:
        """One `einsum` of what is left when deltas are solved."""
        return Contraction(node, self).value()

    def recurrence(self, node: Call, args: Sequence[Array]) -> Array:
        """A result of steps, which all results of the same ones share."""
        own, (result, whole) = Recurrence.of(node), result_of(node)
        key = (own.steps, node.args)
        if key not in self._scans:
            self._scans[key] = self._scanned(own, args)
        last, histories, made = self._scans[key]
        return [*histories, *made][result] if whole else last[result]

    def _scanned(self, own: Recurrence, args: Sequence[Array]) -> Any:
        import jax

        steps, jnp = own.steps, self.field.library
        first, second = len(steps.states), len(steps.states) + len(steps.items)
        fixed = args[second:]

        def step(states: Any, rows: Any) -> Any:
            known = [*states, *rows, *fixed]
            places = dict(zip(steps.places, known, strict=True))
            found = self.inside(self.sizes, places.__getitem__).all(steps.roots)
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
