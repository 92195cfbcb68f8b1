"""What holds of a constrained problem: bounds, Jacobian, Hessian of the Lagrangian.

Objective and constraints are the results of one function of the variables here, each
with its reference; the Lagrangian's second derivatives are sums of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensorgen.ir.nodes import Node, topological
from tensorgen.lang import ElaboratedFunction, ElaboratedProblem
from tensorgen.operators.references import Array
from tensorgen.spec.model import Definition, Wrt
from tensorgen.verify.derivative_claims import (
    DIFFERENCES,
    FIRST,
    SECOND,
    SLOPES,
    VALUES,
    formula,
)
from tensorgen.verify.emitted_calls import Arguments
from tensorgen.verify.findings import Measure
from tensorgen.verify.object_claims import ITSELF, assembled, of_itself
from tensorgen.verify.points import Point
from tensorgen.verify.problem_claims import OnVector, data_of, packing
from tensorgen.verify.reference import Interpreter, Known
from tensorgen.verify.verified_modules import Subject


def as_function(problem: ElaboratedProblem) -> ElaboratedFunction:
    """Return objective and constraints as one function of the variables."""
    like = problem.functions[problem.spec.objective.value]
    texts = [problem.spec.objective, *(c.spec.name_text for c in problem.constraints)]
    spec = replace(
        like,
        name=problem.spec.name,
        wrt=tuple(Wrt(x.spec.name, "", x.spec.name_text) for x in problem.variables),
        emit=(),
        results=tuple(
            Definition(f"{k} {text.value}", None, None, text, text)
            for k, text in enumerate(texts)
        ),
    )
    nodes = [problem.objective, *(c.node for c in problem.constraints)]
    known = {s for x in problem.arguments for dim in x.shape for s in dim.sources}
    dims = [dim for node in topological(nodes) for dim in node.dims]
    # Sizes that follow from no argument are arguments as well.
    sizes = tuple(
        dict.fromkeys(s for dim in dims for s in dim.sources if s not in known)
    )
    own = problem.arguments, (), problem.checks, frozenset[str](), sizes
    each = [ElaboratedFunction(spec, node, *own) for node in nodes]
    return replace(each[0], results=tuple(each))


@dataclass(frozen=True)
class Constrained:
    """A constrained problem at a point: what is known there, and what is measured."""

    problem: ElaboratedProblem
    point: Point
    subject: Subject

    def measures(self) -> Iterator[tuple[Arguments, Measure]]:
        """Bind the class to the data of the point; raises what it raises."""
        name = self.problem.spec.name
        given = data_of(self.point, self.subject, name)
        found = given.call(self.subject, name)
        v, packed = packing(found, self.point, self.subject)
        every = [packed, self._limits(found), self._first(found, v)]
        for measures in [*every, self._second(found, v)]:
            for measure in measures:
                yield given, measure

    def _numbers(self, found: Any) -> Array:
        return self.subject.numbers(found)

    def _limits(self, found: Any) -> Iterator[Measure]:
        """The bounds, of which those that are not stated are infinite."""
        variables, constraints = self.problem.variables, self.problem.constraints
        for side, nodes, endless in (
            ("lb", [(x.lower, x.node) for x in variables], -np.inf),
            ("ub", [(x.upper, x.node) for x in variables], np.inf),
            ("cl", [(x.lower, x.node) for x in constraints], -np.inf),
            ("cu", [(x.upper, x.node) for x in constraints], np.inf),
        ):
            parts = [self._limit(bound, node, endless) for bound, node in nodes]
            wanted = Known(np.concatenate([np.zeros(0), *parts]))
            got, how = self._numbers(getattr(found, side)), f"result.{side}"
            if wanted.value.size and not np.any(np.isfinite(wanted.value)):
                # Nothing is stated; that it is so is a number as well.
                got, wanted = np.isfinite(got) * 1.0, Known(0.0 * np.isfinite(got))
                how = f"np.isfinite({how}) * 1.0"
            yield Measure(side, "the spec", got, wanted, VALUES, how)

    def _limit(self, bound: Node | None, node: Node, endless: float) -> Array:
        case = self.point.case
        shape = tuple(dim.value(case.sizes) for dim in node.dims)
        if bound is None:
            return np.full(shape, endless).ravel()
        (value,) = Interpreter([bound], case.sizes)(case.values)
        return np.ravel(np.broadcast_to(np.real(value), shape))

    def _first(self, found: Any, v: Any) -> Iterator[Measure]:
        goal, *rest = self.point.references.values()
        on = OnVector(self.subject, {"v": self._numbers(v)})
        got, how = found.objective(v), "result.objective(v)"
        yield on("objective", how, got, formula(goal), goal.measured, VALUES)
        slope = Known(goal.jacobian.value[0], goal.jacobian.error)
        got, how = found.gradient(v), "result.gradient(v)"
        yield on("gradient", how, got, SLOPES, slope, FIRST)
        values = Known(
            _joined([np.ravel(x.measured.value) for x in rest], 0),
            max((x.measured.error for x in rest), default=0.0),
        )
        got, how = found.constraints(v), "result.constraints(v)"
        yield on("constraints", how, got, "the formula", values, VALUES)
        n = len(goal.x)
        rows = Known(
            _joined([x.jacobian.value for x in rest], n),
            max((x.jacobian.error for x in rest), default=0.0),
        )
        entries = self._entries(found.jacobianstructure(), found.jacobian(v))
        got = assembled(rows.value.shape, *entries)
        how = "*result.jacobianstructure(), result.jacobian(v)"
        yield on("coo of Jacobian", how, got, SLOPES, rows, FIRST)

    def _entries(self, structure: Any, values: Any) -> tuple[Array, Array, Array]:
        rows, columns = map(self._numbers, structure)
        return rows, columns, self._numbers(values)

    def _second(self, found: Any, v: Any) -> Iterator[Measure]:
        """The Hessian of the Lagrangian along a direction, by any multipliers."""
        point, d = self.point, self.point.direction(0)
        goal, *rest = point.references
        weights = [point.cotangent(name, 0).ravel() for name in rest]
        multipliers = np.concatenate([np.zeros(0), *weights])
        second = [point.second(name, 0) for name in (goal, *rest)]
        given = {"v": self._numbers(v), "d": d, "lagrange": multipliers}
        on = OnVector(self.subject, given)
        along, lagrange = map(self.subject.array, (d, multipliers))
        n = len(d)
        for factor, more in ((1.0, ()), (0.3, (0.3,))):
            parts = zip([np.array([factor]), *weights], second, strict=True)
            row = sum((w @ x.value for w, x in parts), np.zeros(n))
            error = sum(
                x.error * max(1.0, float(np.sum(np.abs(w))))
                for w, x in zip([np.ones(1), *weights], second, strict=True)
            )
            wanted, call = Known(row, error), f"(v, lagrange{', 0.3' * bool(more)})"
            whole = found.lagrangian_hessian(v, lagrange, *more)
            got, code = whole.matvec(along), f"result.lagrangian_hessian{call}"
            how = f"{code}.matvec(d)"
            yield on("Lagrangian", how, got, DIFFERENCES, wanted, SECOND)
            for measure in of_itself(whole, code, d, d[::-1], self.subject):
                yield replace(measure, given={**given, **measure.given})
            values = found.hessian(v, lagrange, *more)
            entries = self._entries(found.hessianstructure(), values)
            lower = Known(np.tril(self._numbers(whole.dense()).reshape(n, n)))
            how = f"*result.hessianstructure(), result.hessian{call}"
            got = assembled((n, n), *entries)
            yield on("coo of Hessian", how, got, "itself", lower, ITSELF)
        got = found.lagrangian_hessian(v).matvec(along)
        how = "result.lagrangian_hessian(v).matvec(d)"
        wanted = Known(second[0].value[0], second[0].error)
        yield on("Lagrangian", how, got, DIFFERENCES, wanted, SECOND)


def _joined(parts: Sequence[Array], width: int) -> Array:
    shape = (0, width) if width else 0
    return np.concatenate([np.zeros(shape), *parts])
