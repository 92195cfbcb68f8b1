"""The arguments of generated functions, from the inputs and unknowns of a spec."""

from __future__ import annotations

from fractions import Fraction

from tensorgen.calculus.kinds import VALUE, Kind
from tensorgen.emit.interface import Parameter, arranged
from tensorgen.ir.dims import Dim
from tensorgen.lang import Program
from tensorgen.operators.matrices.subspaces import SUBSPACES
from tensorgen.spec.model import FunctionSpec, InputSpec
from tensorgen.spec.names import on_one_line

# What the docstring says of an argument under `wrt: {K: symmetric}` and the like.
ON_SUBSPACE = (
    "derivatives are those on the {words} matrices, as arrays that are {words}: "
    "a gradient G is projected to {formula}, a direction likewise, a Hessian on "
    "both sides"
)

IN_METRIC = (
    "gradients, cotangents and products with Hessians are vectors in the inner product "
    "of {matrix}"
)


class Parameters:
    """What the inputs of one function are as arguments of its code."""

    def __init__(self, program: Program, function: FunctionSpec) -> None:
        self._steps = {x.spec.name: x.step for x in program.unknowns}
        self._metrics = {x.name: x.metric for x in function.wrt if x.metric}
        self._subspaces = {x.name: x.subspace for x in function.wrt if x.subspace}
        self._metric = function.metric

    def of(self, given: InputSpec, kind: Kind) -> Parameter:
        """Return an argument, or a part of one."""
        if given.unknown:
            return self._unknown(given)
        return Parameter(
            given.name,
            given.shape,
            self._doc(given, kind),
            None if given.default is None else decimal(given.default),
            "input",
            given.index,
            given.sparse,
            None if given.of is None else self.of(given.of, kind),
            _source(given),
        )

    def _unknown(self, given: InputSpec) -> Parameter:
        read = self._steps[given.name].arguments[1:]
        plain, keyword = arranged(self.of(x, VALUE) for x in read)
        named = [*(p.name for p in keyword), *self._steps[given.name].sizes]
        texts = [*(p.name for p in plain), *(f"{name}={name}" for name in named)]
        found = f"{given.name}_solve({', '.join(texts)})"
        return Parameter(
            given.name, given.shape, given.doc, "None", "unknown", solved=found
        )

    def cotangent(self, name: str, dims: tuple[Dim, ...], of: str) -> Parameter:
        """Return the argument that is like values, in their inner product."""
        doc, metric = None, self._metric
        if metric is not None:
            inner = f"the inner product of {on_one_line(metric)}"
            doc = f"that of {of} is a vector in {inner}"
        return Parameter(name, dims, doc, role="cotangent")

    def _doc(self, given: InputSpec, kind: Kind) -> str | None:
        """The doc of an argument, and where derivatives by it are taken."""
        if kind is not VALUE and given.name in self._metrics:
            told = IN_METRIC.format(matrix=on_one_line(self._metrics[given.name]))
            return "; ".join([*filter(None, [given.doc]), told])
        if kind is VALUE or given.name not in self._subspaces:
            return given.doc
        on = SUBSPACES[self._subspaces[given.name]]
        told = ON_SUBSPACE.format(words=on.words, formula=on.formula)
        return "; ".join([*filter(None, [given.doc]), told])


def _source(given: InputSpec) -> str:
    """What gives a part of a sparse matrix."""
    if given.of is None:
        return ""
    name, own = given.name.removeprefix(given.of.part("")), given.of.name
    return (
        f"{own}.{name}" if given.pairs is None else f"{own}.{name.split('_')[0]}_pairs"
    )


def decimal(value: Fraction) -> str:
    """A rational as the Python literal nearest to it."""
    return repr(float(value)) if value.denominator != 1 else str(value.numerator)
