"""From an elaborated function to the plans of all that is emitted for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from tensorgen.calculus.requests import (
    Mode,
    Request,
    gradient,
    hessians,
    higher,
    jacobians,
    products,
)
from tensorgen.emit.model import Kind, Parameter, pairs, public_name
from tensorgen.emit.results import camel
from tensorgen.ir.effort import PLANNING
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.lang import ElaboratedFunction, Program
from tensorgen.passes.optimise import Plan, optimise
from tensorgen.passes.use_symmetry import use_symmetry
from tensorgen.spec.model import InputSpec, Spec
from tensorgen.structure.compress import compress
from tensorgen.structure.mirror_terms import Permutation, exchanges

# What the docstring says of an argument under `wrt: {K: symmetric}`.
ON_SYMMETRIC = (
    "derivatives are those on the symmetric matrices, as arrays that are symmetric: "
    "a gradient G is projected to (G + G.T) / 2, a direction likewise, a Hessian on "
    "both sides"
)


@dataclass(frozen=True)
class PlannedFunction:
    """One public function: what it computes, from which arguments."""

    source: ElaboratedFunction
    kind: Kind
    wrt: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    plan: Plan
    root_names: tuple[str, ...]
    tensors: range
    order: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name in Python."""
        return public_name(self.source.spec.name, self.kind, self.order)

    def _axes(self, name: str) -> int:
        return len(next(p for p in self.parameters if p.name == name).dims)

    def _pair(self, block: int) -> tuple[str, str]:
        return pairs(self.wrt)[block]

    def is_square(self, block: int) -> bool:
        """Whether a block is the Hessian with respect to one input."""
        return self.kind != "jacobian" and len(set(self._pair(block))) == 1

    def row_axes(self, block: int) -> int:
        """The number of axes of a block's rows."""
        if self.kind in ("jacobian", "order", "mixed"):
            return self.source.node.order
        return self._axes(self._pair(block)[0])

    def input_axes(self) -> list[int]:
        """The number of axes of each input of a derivative of higher order."""
        return [self._axes(name) for name in self.order]

    def class_name(self, block: int) -> str:
        """What the class of a block is called, such as LossHessian."""
        name = camel(self.source.spec.name)
        several = len(self.wrt) > 1
        match self.kind:
            case "jacobian":
                return f"{name}Jacobian" + camel(self.wrt[block]) * several
            case "order" | "mixed":
                return name + "Derivative" + "".join(map(camel, self.order))
        return f"{name}Hessian" + "".join(map(camel, self._pair(block))) * several


def requested(function: ElaboratedFunction) -> list[tuple[Kind, tuple[str, ...]]]:
    """The kinds to emit, in a fixed order, with the inputs of an order or mixed one."""
    spec = function.spec
    kinds = [emit.kind for emit in spec.emit]
    if not kinds:
        first = "jacobian" if function.node.order else "gradient"
        kinds = ["value", first] if spec.wrt else ["value"]
    found: list[tuple[Kind, tuple[str, ...]]] = []
    plain: tuple[Kind, ...] = (
        "value",
        "gradient",
        "value_and_gradient",
        "jacobian",
        "dense_jacobian",
        "hessian",
        "dense_hessian",
        "value_gradient_hessian",
        "hvp",
        "jvp",
        "vjp",
    )
    together: dict[Kind, tuple[str, ...]] = {
        "value_and_gradient": ("value", "gradient"),
        "value_gradient_hessian": ("value", "gradient", "hessian"),
    }
    for kind in plain:
        if all(k in kinds for k in together.get(kind, (kind,))):
            found.append((kind, ()))
    for emit in spec.emit:
        if emit.kind == "order" and emit.order is not None:
            found.append(("order", (spec.wrt[0].name,) * emit.order))
        elif emit.kind == "mixed" and emit.inputs is not None:
            found.append(("mixed", emit.inputs))
    return found


class Planner:
    """Plans every public function of one function of the spec."""

    def __init__(
        self,
        graph: Graph,
        spec: Spec,
        program: Program,
        function: ElaboratedFunction,
        mode: Mode,
    ) -> None:
        """Make the inputs that derivatives are multiplied by."""
        self.graph = graph
        self.function = function
        self.mode: Mode = mode
        self._planned: dict[tuple[Kind, tuple[str, ...]], PlannedFunction] = {}
        self.hints = {name: size for name, size in spec.hints if size is not None}
        self.wrt = tuple(wrt.name for wrt in function.spec.wrt)
        self.inputs = program.inputs
        node = function.node
        variables = tuple(self.inputs[name] for name in self.wrt)
        self.request = Request(
            node,
            variables,
            {
                x: graph.input("d" + n, x.dims)
                for n, x in zip(self.wrt, variables, strict=True)
            },
            graph.input("ct", node.dims),
            frozenset(self.inputs[w.name] for w in function.spec.wrt if w.symmetric),
        )

    def plans(self) -> list[PlannedFunction]:
        """Return the plans, in the order in which they are emitted."""
        found = []
        for kind, order in requested(self.function):
            name = self.function.spec.name_text
            doing = public_name(name.value, kind, order)
            with self.graph.effort.on(name, f"planning {doing}", PLANNING):
                found.append(self.planned(kind, order))
        return found

    def planned(self, kind: Kind, order: tuple[str, ...] = ()) -> PlannedFunction:
        """Return the plan of one public function, made once."""
        if (kind, order) not in self._planned:
            self._planned[kind, order] = self._plan(kind, order)
        return self._planned[kind, order]

    def _plan(self, kind: Kind, order: tuple[str, ...]) -> PlannedFunction:
        ways, names = self.ways(kind, order)
        ways = [use_symmetry(self.graph, way) for way in ways]
        cross_country = self.mode == "cross-country"
        tensors = range(*_tensor_roots(kind, len(ways[0]), len(self.wrt)))
        if kind == "value_gradient_hessian":
            plan = self._beside(ways[0][: tensors.start], self.planned("hessian", ()))
        else:
            compressed = {
                k: partial(
                    compress, symmetries=self._exchanges(kind, k - tensors.start, order)
                )
                for k in tensors
            }
            plan = optimise(self.graph, ways, self.hints, cross_country, compressed)
        # Once more: ordering makes new products, which may be transposes of others.
        final = iter(use_symmetry(self.graph, plan.roots))
        plan = replace(
            plan, parts=tuple(tuple(next(final) for _ in part) for part in plan.parts)
        )
        parameters = [
            Parameter(
                spec.name,
                spec.shape,
                self._said_of(spec, kind),
                None if spec.default is None else decimal(spec.default),
                "input",
                spec.index,
            )
            for spec in self.function.arguments
        ]
        if kind in ("hvp", "jvp"):
            parameters += [
                Parameter("d" + n, x.dims, f"direction in {n}", role="direction")
                for n, x in zip(self.wrt, self.request.variables, strict=True)
            ]
        if kind == "vjp":
            dims = self.function.node.dims
            doc = f"cotangent of {self.function.spec.name}"
            parameters.append(Parameter("ct", dims, doc, role="cotangent"))
        return PlannedFunction(
            self.function,
            kind,
            self.wrt,
            tuple(parameters),
            plan,
            names,
            tensors,
            order,
        )

    def _exchanges(
        self, kind: Kind, block: int, order: tuple[str, ...]
    ) -> tuple[Permutation, ...]:
        """The exchanges of axes that leave a derivative tensor what it is."""
        if kind == "jacobian":
            return ()
        names = order or pairs(self.wrt)[block]
        inputs = [(name, self.inputs[name].order) for name in names]
        return exchanges(self.function.node.order, inputs)

    def _beside(self, others: Sequence[Node], planned: PlannedFunction) -> Plan:
        """The plan that computes other values beside the tensors of a planned one.

        The tensors stay what they are there, so that one function has one Hessian.
        """
        tensors = planned.plan.tensors
        arrays = [
            planned.plan.formulas[k : k + 1] if tensor is None else tensor.arrays
            for k, tensor in enumerate(tensors)
        ]
        roots = [*others, *(node for part in arrays for node in part)]
        joint = optimise(self.graph, [roots], self.hints, self.mode == "cross-country")
        nodes = iter(joint.roots)
        parts: list[tuple[Node, ...]] = [(next(nodes),) for _ in others]
        parts += [tuple(next(nodes) for _ in part) for part in arrays]
        return Plan(
            tuple(parts),
            (*(None for _ in others), *tensors),
            (*joint.formulas[: len(others)], *planned.plan.formulas),
        )

    def _said_of(self, given: InputSpec, kind: Kind) -> str | None:
        """The doc of an argument, and on which matrices derivatives are taken."""
        symmetric = {x.name for x in self.function.spec.wrt if x.symmetric}
        if kind == "value" or given.name not in symmetric:
            return given.doc
        return "; ".join([*filter(None, [given.doc]), ON_SYMMETRIC])

    def ways(
        self, kind: Kind, order: tuple[str, ...]
    ) -> tuple[Sequence[Sequence[Node]], tuple[str, ...]]:
        """The equivalent lists of roots of a kind, and what to call the roots."""
        graph, request, mode = self.graph, self.request, self.mode
        value = [self.function.node]
        f = self.function.spec.name
        grads = tuple(self._suffixed("grad", n) for n in self.wrt)
        blocks = [
            "hess" if len(self.wrt) == 1 else f"hess_{a}_{b}"
            for k, a in enumerate(self.wrt)
            for b in self.wrt[k:]
        ]
        match kind:
            case "value":
                return [value], (f,)
            case "gradient":
                return gradient(graph, request, mode), grads
            case "value_and_gradient":
                ways = gradient(graph, request, mode)
                return [value + way for way in ways], (f, *grads)
            case "jacobian" | "dense_jacobian":
                names = tuple(self._suffixed("jac", n) for n in self.wrt)
                return jacobians(graph, request, mode), names
            case "hessian" | "dense_hessian":
                return hessians(graph, request, mode), tuple(blocks)
            case "value_gradient_hessian":
                first = gradient(graph, request, mode)[0]
                ways = hessians(graph, request, mode)
                return [value + first + way for way in ways], (f, *grads, *blocks)
            case "hvp":
                names = tuple(self._suffixed("hvp", n) for n in self.wrt)
                return products(graph, request, kind, mode), names
            case "jvp":
                ways = products(graph, request, kind, mode)
                return [value + way for way in ways], (f, "tangent")
            case "vjp":
                ways = products(graph, request, kind, mode)
                names = tuple(self._suffixed("ct", n, always=True) for n in self.wrt)
                return [value + way for way in ways], (f, *names)
            case "order" | "mixed":
                inputs = [self.inputs[name] for name in order]
                return higher(graph, request, inputs, mode), (f"d{len(order)}",)

    def _suffixed(self, name: str, variable: str, always: bool = False) -> str:
        """`grad` for one variable, `grad_U` and `grad_V` for several."""
        return f"{name}_{variable}" if always or len(self.wrt) > 1 else name


def _tensor_roots(kind: Kind, roots: int, wrt: int) -> tuple[int, int]:
    """Which roots of a kind are derivative tensors, to be held by their structure."""
    if kind in ("jacobian", "hessian", "order", "mixed"):
        return 0, roots
    return (1 + wrt, roots) if kind == "value_gradient_hessian" else (0, 0)


def decimal(value: Fraction) -> str:
    """A rational as the Python literal nearest to it."""
    return repr(float(value)) if value.denominator != 1 else str(value.numerator)
