"""How emitted functions are called with the inputs of a point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from tensorgen.ir.nodes import Call, Node, topological
from tensorgen.lang import ElaboratedFunction, Program
from tensorgen.operators.recurrences.recurrence import everything
from tensorgen.operators.references import Array
from tensorgen.operators.solved_arrays import equation_of, is_unknown
from tensorgen.spec.model import InputSpec
from tensorgen.verify.cases import Case
from tensorgen.verify.reference import Interpreter, Unfit
from tensorgen.verify.verified_modules import Subject


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call by their names, in order."""

    plain: Mapping[str, Any]
    keyword: Mapping[str, Any]

    def call(self, subject: Subject, name: str) -> Any:
        """Call a function of a module; raises what it raises."""
        plain = [subject.array(x) for x in self.plain.values()]
        keyword = {k: subject.array(x) for k, x in self.keyword.items()}
        return getattr(subject.module, name)(*plain, **keyword)

    def each(
        self,
        change: Callable[[Any], Any],
        others: Mapping[str, Any] = MappingProxyType({}),
    ) -> Arguments:
        """Return the arguments with all values changed, and `others` for some."""

        def changed(given: Mapping[str, Any]) -> dict[str, Any]:
            return {k: others.get(k, change(x)) for k, x in given.items()}

        return Arguments(changed(self.plain), changed(self.keyword))

    def text(self) -> str:
        """The text between the parentheses."""
        return ", ".join([*self.plain, *(f"{x}={x}" for x in self.keyword)])

    @property
    def values(self) -> dict[str, Any]:
        """All of them."""
        return {**self.plain, **self.keyword}


def arguments(
    function: ElaboratedFunction,
    case: Case,
    more: Mapping[str, Array] | None = None,
    without: tuple[str, ...] = (),
) -> Arguments:
    """Return the arguments of an emitted function.

    In the order of the file, then `more`: directions or cotangents. What has a default,
    unknowns and sizes are keywords.
    """
    plain: dict[str, Any] = {}
    keyword: dict[str, Any] = {}
    for own in dict.fromkeys(x.of or x for x in function.arguments):
        if own.name in without:
            continue
        late = own.default is not None or own.unknown
        (keyword if late else plain)[own.name] = _value(own, case)
    plain |= more or {}
    keyword |= {size: case.sizes[size] for size in function.sizes}
    return Arguments(plain, keyword)


def _value(given: InputSpec, case: Case) -> Any:
    if given.sparse:
        return matrix(given, case)
    value = case.values[given.name]
    return value if value.shape else value[()].item()


def matrix(given: InputSpec, case: Case) -> Any:
    """Return a sparse input as SciPy's matrix; raises `Unfit` without SciPy."""
    try:
        from scipy.sparse import csr_array
    except ImportError as error:
        raise Unfit("sparse inputs need SciPy") from error
    values, rows, columns = (
        case.values[given.part(x)] for x in ("values", "rows", "columns")
    )
    shape = tuple(dim.value(case.sizes) for dim in given.shape)
    return csr_array((values, (rows, columns)), shape=shape)


def solved(function: ElaboratedFunction, program: Program, case: Case) -> Case:
    """Return the point with what the reference has for the unknowns of a function.

    Raises `Unfit` where it has none.
    """
    wanted = [x for x in function.arguments if x.unknown and x.name not in case.values]
    if not wanted:
        return case
    nodes = [x.node for x in function.alone.values()]
    found = {_name(x): x for x in everything(topological(nodes)) if is_unknown(x)}
    missing = [x.name for x in wanted if x.name not in found]
    if missing:
        raise Unfit(f"'{missing[0]}' occurs in no expression")
    own = [found[x.name] for x in wanted]
    values = Interpreter(own, case.sizes)(case.values)
    new = {x.name: np.real(v) for x, v in zip(wanted, values, strict=True)}
    return Case(case.sizes, {**case.values, **new}, case.seed)


def _name(node: Node) -> str:
    assert isinstance(node, Call)
    return equation_of(node).unknown.name
