"""Specs of formulas: inputs with the shapes that follow, functions, a problem."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from tensorgen.calculus.kinds import NAMED
from tensorgen.errors import Faults, Span, Text, fail, listed, printable, suggest
from tensorgen.frontends.declared import (
    ORDERS,
    Declared,
    first_variable,
    order_by_letter,
    spelled,
)
from tensorgen.frontends.formula import Comparison, Formula, Name, Sum, Total, names_in
from tensorgen.frontends.shape_of import Shape, ShapeReader, Words
from tensorgen.frontends.translation import Translation
from tensorgen.frontends.write_expression import ExpressionWriter
from tensorgen.spec.names import check_name, unused

# What is emitted of scalars alone, and what takes its place of other functions.
_OF_SCALARS = {"gradient": "jacobian"}
_SCALARS_ONLY = ("gradient", "hessian", "hvp", "problem")
DEFAULT = ("value", "gradient")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asks for beside the formula: nothing is said by what is empty."""

    module: str = "formula"
    by: tuple[str, ...] = ()
    emit: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Constraint:
    """A comparison below `st`."""

    sign: Comparison
    left: Formula
    right: Formula
    span: Span | None


@dataclass(slots=True)
class Model:
    """What a notation says: variables in order, one objective, and constraints.

    `by` is what it is differentiated by where the notation says so; `sizes` are names
    of lengths.
    """

    notation: str
    objective: Formula
    declared: dict[str, Declared] = field(default_factory=dict)
    words: Words = field(default_factory=Words)
    name: str = ""
    by: tuple[str, ...] = ()
    sense: Literal["", "minimize", "maximize"] = ""
    constraints: tuple[Constraint, ...] = ()
    sizes: tuple[str, ...] = ()
    remarks: list[str] = field(default_factory=list)
    text: str = ""


def write_spec(model: Model, asked: Asked) -> Translation:
    """Return the spec of a model; raises `SpecError` where shapes do not fit."""
    return _SpecWriter(model, asked).translation()


class _SpecWriter:
    """Writes one spec."""

    def __init__(self, model: Model, asked: Asked) -> None:
        self.model, self.asked = model, asked
        self.remarks = [*model.remarks]
        self.variables = self._variables()
        self.shapes, self.shape = self._shapes()
        self._check_names()
        self._tell_guesses()
        self.by = self._by()
        self.names = self.shapes.settle()
        for name in self.by:
            if {"symmetric", "spd"} & {*self.variables[name].properties}:
                told = f"Entries of {name} count as independent"
                by = f"wrt: {{{name}: symmetric}}"
                self.remarks.append(f"{told}; {by} asks for symmetric derivatives.")
        self.writer = ExpressionWriter(self.shapes, self.names)
        self.bounds: dict[str, dict[str, str]] = {x: {} for x in self.by}
        self.functions: dict[str, str] = {}
        self.limits: dict[str, dict[str, str]] = {}
        self._check_emitted()

    def _formulas(self) -> list[Formula]:
        sides = [x for one in self.model.constraints for x in (one.left, one.right)]
        return [self.model.objective, *sides]

    def _variables(self) -> dict[str, Declared]:
        """What is mentioned: what was declared, or follows from letters."""
        declared = self.model.declared
        mentioned = self._mentioned()
        for name, one in declared.items():
            if name in mentioned or one.is_guessed:
                continue
            self.remarks.append(f"'{name}' is declared, but no formula mentions it.")
        guessed = {
            name: Declared(name, order_by_letter(name), span=node.span, is_guessed=True)
            for name, node in mentioned.items()
            if name not in declared
        }
        return {x: y for x, y in declared.items() if x in mentioned} | guessed

    def _shapes(self) -> tuple[ShapeReader, Shape]:
        """Read all shapes, again where a sum shows that a guess was wrong."""
        while True:
            shapes = ShapeReader(self.variables, self.model.words, self.model.sizes)
            shape = shapes.read(self.model.objective)
            for one in self.model.constraints:
                shapes.compare(one.left, one.right, one.span)
            better = self._better_guesses(shapes)
            if not better:
                return shapes, shape
            self.variables |= better

    def _better_guesses(self, shapes: ShapeReader) -> dict[str, Declared]:
        """Scalars by their letters that are added to arrays, as arrays."""
        found = {}
        for node, shape in shapes.of.items():
            if not isinstance(node, Sum) or not shape.order:
                continue
            for _, term in node.terms:
                one = self.variables.get(term.name) if isinstance(term, Name) else None
                if one is not None and one.is_guessed and not one.order:
                    is_row = shape.order == 1 and shape.rows is None
                    better = replace(one, order=shape.order, is_row=is_row)
                    found[one.name] = better
        return found

    def _check_names(self) -> None:
        """Raise `SpecError` where a spec has no such name, or one for two things."""
        for name, one in self._mentioned().items():
            faults = Faults()
            if not check_name(Text.plain(spelled(name)), "an input", faults):
                (found,) = faults.diagnostics
                fail(found.message, one.span, hint=found.hint)
            what = "a size" if name in self.model.sizes else "an index"
            if name in self.model.sizes or name in self._indices():
                fail(f"'{name}' is the name of a variable and of {what}", one.span)

    def _tell_guesses(self) -> None:
        guessed = [x for x in self.variables.values() if x.is_guessed]
        told = []
        for k, kind in enumerate(ORDERS):
            names = [x.name for x in guessed if x.order == k]
            many = "matrices" if k == 2 else f"{kind}s"
            if names:
                told.append(
                    f"{listed(names)} are {many}"
                    if names[1:]
                    else f"{names[0]} is a {kind}"
                )
        if told:
            self.remarks.append(f"Assumed: {'; '.join(told)}.")

    def _mentioned(self) -> dict[str, Name]:
        found: dict[str, Name] = {}
        for formula in self._formulas():
            found = names_in(formula) | found
        return found

    def _by(self) -> tuple[str, ...]:
        """What is differentiated by: what is asked for or said, or the first array."""
        known = [*self.variables]
        for name in self.asked.by:
            if name not in known:
                hint = suggest(name, known) or f"known: {', '.join(known)}"
                fail(f"the formula has no variable '{name}'", None, hint=hint)
        said = self.asked.by or tuple(x for x in self.model.by if x in known)
        if said or not known:
            return tuple(x for x in known if x in said)
        # A small letter that is a matrix has rows of data.
        likely = [x for x in known if self.variables[x].order < 2 or not x[0].islower()]
        arrays = [x for x in likely if self.variables[x].order]
        found = first_variable(likely, arrays) or tuple(known[:1])
        if len(known) > 1:
            self.remarks.append(f"Differentiated by {found[0]}: nothing says by what.")
        return found

    def _check_emitted(self) -> None:
        """Raise `SpecError` where something is asked for that cannot be emitted."""
        for kind in self.asked.emit:
            if kind not in NAMED and not kind.isdigit():
                hint = suggest(kind, NAMED) or f"known: {', '.join(NAMED)}"
                fail(f"nothing that is emitted is called '{kind}'", None, hint=hint)
        wrong = [x for x in self.asked.emit if x in _SCALARS_ONLY]
        if wrong and self.shape.order:
            message = f"{wrong[0]} is of a scalar, and the formula is {self.shape}"
            span = self.model.objective.span
            fail(message, span, hint="emit value and jacobian of it")
        if self.model.sense and self.shape.order:
            message = f"the objective is {self.shape}, not a scalar"
            fail(
                message, self.model.objective.span, hint="sum(...) adds up its entries"
            )

    # --- text ---------------------------------------------------------------

    def translation(self) -> Translation:
        """Return the text, with what was assumed above it."""
        objective = self._objective_name()
        self.functions[objective] = self.writer.text(self.model.objective)
        for one in self.model.constraints:
            self._constrain(one)
        lines = [*self._head(), *self._inputs(), "functions:"]
        for name, text in self.functions.items():
            lines += self._function(name, text, name == objective)
        lines += self._problem(objective)
        return Translation("\n".join(lines) + "\n", tuple(self.remarks))

    def _objective_name(self) -> str:
        wanted = self.model.name or ("objective" if self.model.sense else "f")
        taken = {*map(spelled, self.variables), *self.names.values(), *self._indices()}
        taken |= {*self.model.sizes}
        return unused(spelled(wanted), taken)

    def _indices(self) -> set[str]:
        return {node.index for node in self.shapes.of if isinstance(node, Total)}

    def _head(self) -> Iterator[str]:
        yield f"# From {self.model.notation}:"
        for line in self.model.text.strip("\n").splitlines():
            yield f"#   {printable(line.rstrip())}".rstrip()
        for remark in self.remarks:
            yield f"# {printable(remark)}"
        yield "tensorgen: 1"
        yield f"module: {self.asked.module}"
        free = self._free_sizes()
        if free:
            yield f"dims: [{', '.join(free)}]"

    def _free_sizes(self) -> list[str]:
        """Sizes that no shape of an input has: whoever calls a function says them."""
        shown = [self.writer.size(x) for own in self.shapes.own.values() for x in own]
        known = {word for text in shown for word in re.findall(r"[A-Za-z]\w*", text)}
        used = dict.fromkeys(self.model.sizes)
        for shape in self.shapes.of.values():
            used |= {self.writer.size(x): None for x in shape.axes}
        return [x for x in used if x not in known and x.isidentifier()]

    def _inputs(self) -> Iterator[str]:
        if self.variables:
            yield "inputs:"
        for name in sorted(self.variables, key=lambda x: x not in self.by):
            one = self.variables[name]
            sizes = ", ".join(map(self.writer.size, self.shapes.own[name]))
            shape = f"[{sizes}]" if one.order else "scalar"
            if one.properties:
                said = "".join(f", {word}: true" for word in one.properties)
                shape = f"{{shape: {shape}{said}}}"
            yield f"  {spelled(name)}: {shape}"

    def _function(self, name: str, text: str, is_objective: bool) -> Iterator[str]:
        yield f"  {name}:"
        yield f"    expr: {text}"
        if not is_objective or not self.by:
            return
        by = [*map(spelled, self.by)]
        yield f"    wrt: {by[0] if len(by) == 1 else '[' + ', '.join(by) + ']'}"
        emit = self.asked.emit or DEFAULT
        if not self.asked.emit and self.model.sense and not self._is_constrained():
            emit = (*DEFAULT, "problem")
        if not self.asked.emit and self.shape.order:
            emit = tuple(_OF_SCALARS.get(x, x) for x in emit)
        yield f"    emit: [{', '.join(emit)}]"

    # --- the problem --------------------------------------------------------

    def _is_constrained(self) -> bool:
        return bool(self.model.constraints)

    def _constrain(self, one: Constraint) -> None:
        """Take down a bound of a variable, or a function with limits."""
        left, right, sign = one.left, one.right, one.sign
        by = {*self.by}
        if not by & names_in(left).keys():
            turned: Mapping[str, Comparison] = {"<=": ">=", ">=": "<="}
            left, right, sign = right, left, turned.get(sign, sign)
        if not by & names_in(left).keys():
            fail("the constraint mentions no variable", one.span)
        kinds = {"<=": "upper", ">=": "lower", "==": "equal"}
        kind = kinds[sign]
        (name,) = [*names_in(left)][:1]
        is_free = not by & names_in(right).keys() and self.shapes.fits(left, right)
        is_bound = left is names_in(left)[name] and kind != "equal" and is_free
        if is_bound and kind not in self.bounds[name]:
            self.bounds[name][kind] = self.writer.bound(right)
            return
        function = unused(f"constraint{len(self.limits) + 1}", self.variables)
        if is_free:
            self.functions[function] = self.writer.text(left)
            self.limits[function] = {kind: self.writer.bound(right)}
        else:
            self.functions[function] = self.writer.difference(left, right)
            self.limits[function] = {kind: "0"}

    def _problem(self, objective: str) -> Iterator[str]:
        if not self._is_constrained():
            return
        yield "problem:"
        yield f"  {self.model.sense}: {objective}"
        yield "  variables:"
        for name, limits in self.bounds.items():
            yield f"    {spelled(name)}:{_limits(limits)}"
        if self.limits:
            yield "  constraints:"
        for name, limits in self.limits.items():
            yield f"    {name}:{_limits(limits)}"


def _limits(limits: Mapping[str, str]) -> str:
    inside = ", ".join(f"{kind}: {_quoted(text)}" for kind, text in limits.items())
    return f" {{{inside}}}" if limits else ""


def _quoted(text: str) -> str:
    """A text in a flow mapping: in quotes where YAML would cut it."""
    return f'"{text}"' if set(text) & set(",[]{}") else text
