"""The table of the kinds of derivatives: adding one is adding a row.

A function of a kind returns what the kinds in `lead` return, and then its own: one
array, or one object, for each of its blocks. A block is differentiated by the inputs
that it is named by, and has the axes of f and then theirs; a cotangent takes the place
of the axes of f.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations_with_replacement
from typing import Literal

from tensorgen.calculus import requests
from tensorgen.calculus.requests import Mode, Request
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node

Blocks = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of derivative of a function f.

    `called` is the public name and `summary` the first line of the docstring, where
    `{x}` are the inputs in `wrt`, `{order}` those of one derivative, `{k}` how many.
    `ways` gives equivalent lists of its own roots, `root` what those are called. There
    is one root for f itself, for `each` input, each `pair` of them, the `order`, or
    for `all` of that many inputs, in one order.
    Roots that are whole tensors are held by objects of class `holder`; several of
    `each`, or of several results, come as a tuple, `bundle`. `returns` describes a
    block of some shape, `label` names it where there are others. A `direction` has the
    shapes of the inputs, a `cotangent` that of f. Where `scalar` is given, f must be a
    scalar, and it says what
    others have instead. A kind with `beside` is not asked for: it is emitted where all
    of those are. `method` is the sentence of a method that problems have, `part` what
    that returns. Of tuples of several results `told` says what they are; two of them
    are `joined` by functions, one for each result. A piece may have `only` some of the
    blocks, by their names.
    """

    name: str
    called: str
    summary: str
    by: Literal["nothing", "each", "pair", "order", "all"]
    ways: Callable[[Graph, Request, Mode], list[list[Node]]]
    root: str
    lead: tuple[Kind, ...] = ()
    holder: str = ""
    bundle: str = ""
    argument: Literal["", "direction", "cotangent"] = ""
    label: str = ""
    returns: str = "{shape}"
    scalar: str = ""
    beside: tuple[Kind, ...] = ()
    method: str = ""
    part: str = ""
    told: str = ""
    joined: tuple[str, ...] = ()
    only: Blocks = ()

    def public_name(self, function: str, order: tuple[str, ...] = ()) -> str:
        """Return what is emitted is called in Python, `f_d3` or `f_d_U_V` included."""
        names = {"k": len(order), "order": "_".join(order)}
        return self.called.format(f=function, F=camel(function), **names)

    def tuple_name(self, function: str, order: tuple[str, ...] = ()) -> str:
        """Return the class of tuples of it, by inputs or by results."""
        names = {"k": len(order), "order": "".join(map(camel, order))}
        return camel(function) + self.bundle.format(**names)

    @property
    def parts(self) -> tuple[Kind, ...]:
        """The kinds of all that its functions return, in this order."""
        return (*self.lead, self)

    @property
    def plain_parts(self) -> tuple[Kind, ...]:
        """The same as kinds that are asked for by themselves."""
        return self.beside or self.parts

    def of_result(self, order: int) -> Kind | None:
        """Return what a result with so many axes has of it where there are several.

        One that is no scalar has its value alone beside the gradient of another one.
        """
        if not (self.scalar and order):
            return self
        return self.lead[0] if self.lead else None

    def blocks(self, wrt: tuple[str, ...], order: tuple[str, ...] = ()) -> Blocks:
        """Return the inputs that each root of its own is differentiated by."""
        if self.by == "each":
            return tuple((x,) for x in wrt)
        if self.by == "pair":
            return self.only or pairs(wrt)
        if self.by == "all":
            return tuple(combinations_with_replacement(wrt, len(order)))
        return (order,) if self.by == "order" else ((),)

    @property
    def is_higher(self) -> bool:
        """Whether it is of an order that is given with it."""
        return self.by in ("order", "all")


def camel(name: str) -> str:
    """Return a function's name as the start of a class name: my_loss as MyLoss."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def result_name(function: str, result: str) -> str:
    """Return what one of several results is called in the names of classes."""
    return f"{function}_{result}"


def pairs(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return each unordered pair of names once, a name with itself included."""
    return tuple(combinations_with_replacement(names, 2))


def together(name: str, called: str, summary: str, *kinds: Kind) -> Kind:
    """Return the kind of functions that return what several kinds do, in this order."""
    return replace(
        kinds[-1],
        name=name,
        called=called,
        summary=summary,
        lead=kinds[:-1],
        beside=kinds,
        method="",
    )


VALUE = Kind(
    "value",
    "{f}",
    "Value of `{f}`.",
    "nothing",
    requests.value,
    "{f}",
    bundle="Value",
    label="value",
    method="Return the value.",
    part="the value",
)
GRADIENT = Kind(
    "gradient",
    "{f}_grad",
    "Gradient of `{f}` with respect to {x}.",
    "each",
    requests.gradient,
    "grad",
    bundle="Gradient",
    label="gradient",
    scalar="emit jacobian",
    method="Return the gradient, flat.",
    part="the gradient",
)
JACOBIAN = Kind(
    "jacobian",
    "{f}_jac",
    "Jacobian of `{f}` with respect to {x}.",
    "each",
    requests.jacobians,
    "jac",
    holder="Jacobian",
    bundle="Jacobian",
    returns="an object with dense(), matvec() and more: {shape}",
    method="Return the Jacobian.",
    part="the Jacobian",
)
DENSE_JACOBIAN = Kind(
    "dense_jacobian",
    "{f}_jac_dense",
    "Jacobian of `{f}` with respect to {x}, as an array.",
    "each",
    requests.jacobians,
    "jac",
    bundle="DenseJacobian",
)
HESSIAN = Kind(
    "hessian",
    "{f}_hess",
    "Hessian of `{f}` with respect to {x}.",
    "pair",
    requests.hessians,
    "hess",
    holder="Hessian",
    bundle="Hessian",
    label="Hessian",
    returns="Hessian: an object with dense(), matvec(), solve() and more",
    scalar="emit dense_hessian",
    method="Return the Hessian.",
    part="the Hessian",
)
DENSE_HESSIAN = Kind(
    "dense_hessian",
    "{f}_hess_dense",
    "Hessian of `{f}` with respect to {x}, as an array.",
    "pair",
    requests.hessians,
    "hess",
    bundle="DenseHessian",
    label="Hessian",
)
HVP = Kind(
    "hvp",
    "{f}_hvp",
    "Hessian of `{f}` with respect to {x}, times a direction.",
    "each",
    requests.hvps,
    "hvp",
    bundle="Gradient",
    argument="direction",
    scalar="emit jvp or vjp",
    method="Return the Hessian times a direction, flat.",
    part="`hvp`",
)
JVP = Kind(
    "jvp",
    "{f}_jvp",
    "Value of `{f}` and its derivative along a direction.",
    "nothing",
    requests.jvps,
    "tangent",
    lead=(VALUE,),
    bundle="Value",
    argument="direction",
    label="derivative",
)
VJP = Kind(
    "vjp",
    "{f}_vjp",
    "Value of `{f}` and its derivative weighted by a cotangent.",
    "each",
    requests.vjps,
    "ct",
    lead=(VALUE,),
    bundle="Cotangents",
    argument="cotangent",
    label="cotangent",
)
# Of several results: their values are there already.
COTANGENTS = replace(VJP, lead=())
ORDER = Kind(
    "order",
    "{f}_d{k}",
    "Derivative of order {k} of `{f}` with respect to {x}.",
    "order",
    requests.higher,
    "d{k}",
    holder="Derivative",
    bundle="Derivative{k}",
    returns="an object with dense() of {shape}, and contract()",
)
MIXED = replace(
    ORDER,
    name="mixed",
    called="{f}_d_{order}",
    bundle="Derivative{order}",
    summary="Derivative of `{f}` with respect to {order}, in this order.",
)
# Where there are several inputs; the inputs of its order say how many alone.
ALL = replace(
    ORDER,
    name="whole_order",
    by="all",
    ways=requests.all_higher,
    summary="All derivatives of order {k} of `{f}` with respect to {x}.",
    returns="JointDerivative: an object with blocks by the names of inputs",
)
# A class whose methods are those kinds that have one.
PROBLEM = Kind(
    "problem", "{F}Problem", "", "nothing", requests.value, "", argument="direction"
)
# No function either: what Hessians of the module are asked for besides.
STANDARD_ERRORS = Kind("standard_errors", "", "", "nothing", requests.value, "")

ROWS = (
    VALUE,
    GRADIENT,
    together(
        "value_and_gradient",
        "{f}_value_and_grad",
        "Value of `{f}` and its gradient with respect to {x}.",
        VALUE,
        GRADIENT,
    ),
    JACOBIAN,
    DENSE_JACOBIAN,
    HESSIAN,
    DENSE_HESSIAN,
    together(
        "value_gradient_hessian",
        "{f}_value_grad_hess",
        "Value of `{f}`, its gradient and its Hessian with respect to {x}.",
        VALUE,
        GRADIENT,
        HESSIAN,
    ),
    HVP,
    JVP,
    VJP,
    ORDER,
    ALL,
    MIXED,
    PROBLEM,
    STANDARD_ERRORS,
)
"""All kinds, in the order in which they are emitted."""

KINDS = {row.name: row for row in ROWS}


@cache
def by_sample(kind: Kind) -> Kind:
    """Return the kind of what a kind gives for each sample of a batch: arrays."""
    before, parts = (tuple(map(by_sample, x)) for x in (kind.lead, kind.beside))
    if not kind.holder and before == kind.lead and parts == kind.beside:
        return kind
    return replace(kind, holder="", returns="{shape}", lead=before, beside=parts)


METHODS = tuple(row for row in ROWS if row.method)
"""The methods of a problem, in the order in which they are usually called."""

NAMED = tuple(row.name for row in ROWS if not row.beside and not row.is_higher)
"""The kinds that are asked for by their names."""


def all_emitted(asked: Collection[Kind]) -> list[Kind]:
    """Return what is emitted where some kinds are asked for, in the table's order."""
    return [row for row in ROWS if all(kind in asked for kind in row.beside or (row,))]
