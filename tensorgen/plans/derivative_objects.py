"""The objects that hold derivative tensors, and their classes."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace

from tensorgen.arrays.number_text import size
from tensorgen.emit.interface import Holder, every
from tensorgen.ir.dims import tuple_text
from tensorgen.ir.graph import Graph
from tensorgen.passes.context import Plan
from tensorgen.plans.planned import PlannedFunction
from tensorgen.structure.classes import (
    StructuredClass,
    few_class,
    higher_class,
    matrix_class,
)
from tensorgen.structure.methods import Structure
from tensorgen.structure.stored import Compressed, as_compressed
from tensorgen.structure.ways import few_a_row


class Objects:
    """The classes of a module's derivative objects, each made once."""

    def __init__(self, graph: Graph, taken: Collection[str], slow_at: bool) -> None:
        """Start without any; none shall have a name that is taken."""
        self.graph = graph
        self.taken = taken
        self.slow_at = slow_at
        self.classes: dict[str, StructuredClass] = {}
        self._structures: dict[Hashable, Structure] = {}
        self._made: dict[Hashable, StructuredClass] = {}

    def holders(
        self, planned: PlannedFunction, plan: Plan, hints: Mapping[str, int]
    ) -> tuple[tuple[Holder, ...], dict[int, tuple[str, ...]]]:
        """What holds each derivative tensor, and the names of its arrays by root."""
        holders = []
        fields: dict[int, tuple[str, ...]] = {}
        tensors = [
            (k, t)
            for k, t in enumerate(as_compressed(plan.tensors))
            if k in planned.tensors
        ]
        structures = [
            (
                None
                if tensor is None or tensor.is_dense
                else self._structure(planned, block, tensor, hints)
            )
            for block, (_, tensor) in enumerate(tensors)
        ]
        joint = planned.kind.by == "pair" and not planned.kind.only
        few = joint and self._are_few(planned, structures)
        for block, ((k, _), structure) in enumerate(
            zip(tensors, structures, strict=True)
        ):
            if structure is None:
                holders.append(Holder())
                continue
            made = self._registered(self._class(planned, block, structure, few))
            sides = [tuple_text([size(d).text for d in made.rows])]
            sides += [tuple_text([size(d).text for d in x]) for x in made.columns]
            holders.append(
                Holder(
                    made.name,
                    made.fields,
                    made.sizes,
                    made.structure,
                    made.positive,
                    made.words,
                    tuple(sides) if few else (),
                )
            )
            fields[k] = made.fields
        return tuple(holders), fields

    @staticmethod
    def _are_few(
        planned: PlannedFunction, structures: Sequence[Structure | None]
    ) -> bool:
        """Whether the entries of a joint Hessian are all that it needs.

        They are few in every row, and couple inputs: those that nothing couples are
        solved for one by one.
        """
        return all(s is not None and few_a_row(s) for s in structures) and any(
            s is not None and not s.tensor.vanishes and not planned.is_square(block)
            for block, s in enumerate(structures)
        )

    def _structure(
        self,
        planned: PlannedFunction,
        block: int,
        tensor: Compressed,
        hints: Mapping[str, int],
    ) -> Structure:
        """A derivative tensor with names; several functions may hold the same one."""
        taken = tuple(p.name for p in every(planned.parameters))
        key = tensor, planned.row_axes(block), taken, *sorted(hints.items())
        if key not in self._structures:
            self._structures[key] = Structure(
                self.graph, tensor, planned.row_axes(block), hints, self.slow_at, taken
            )
        return self._structures[key]

    def _class(
        self, planned: PlannedFunction, block: int, structure: Structure, few: bool
    ) -> StructuredClass:
        name, hessian = planned.class_name(block), planned.is_square(block)
        inputs = (*planned.input_axes(block),) if planned.kind.is_higher else None
        key = structure, name, inputs, hessian, few
        if key not in self._made:
            matrix = few_class if few else matrix_class
            self._made[key] = (
                matrix(structure, name, hessian)
                if inputs is None
                else higher_class(structure, name, inputs)
            )
        return self._made[key]

    def _registered(self, made: StructuredClass) -> StructuredClass:
        """Return the class under a name of its own; equal ones are one.

        Those that hold no shapes may be equal under names of their own.
        """
        if made.few:
            alike = (c for c in self.classes.values() if _text(c) == _text(made))
            made = replace(made, name=next((c.name for c in alike), made.name))
        name, count = made.name, 1
        while name in self.taken or (
            name in self.classes and _text(self.classes[name]) != _text(made)
        ):
            count += 1
            name = f"{made.name}{count}"
        made = replace(made, name=name)
        self.classes.setdefault(name, made)
        return made


def _text(made: StructuredClass) -> Hashable:
    """All of a class but its name, and the shapes that its objects are told."""
    if not made.few:
        return replace(made, name="")
    alone = replace(made, name="", sizes=(), rows=(), columns=())
    return alone, len(made.rows), len(made.columns[0])
