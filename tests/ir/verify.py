"""The laws of the node kinds, checked at the borders of stages in tests.

A law is a generator of complaints about one node; the tables below list the laws of
each kind. A graph makes only lawful nodes, so that a complaint means a bug: in a
constructor, or in a pass that made a node by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from math import gcd
from typing import Any

from tensorgen.errors import InternalError
from tensorgen.ir.canonical import canonical_labels, constraint_key
from tensorgen.ir.constraints import Ranges, atom_key, index_bound, is_light
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import (
    BaseNode,
    Call,
    Constant,
    Constraint,
    Input,
    Iota,
    Lookup,
    Map,
    Node,
    Product,
    Ref,
    Size,
    Sum,
    children,
    is_zero,
    topological,
)

Complaints = Iterator[str]


def verify(nodes: Iterable[Node]) -> None:
    """Check every node below `nodes`; raise `InternalError` with all complaints."""
    complaints: list[str] = []
    twins: dict[object, Node] = {}
    for node in topological(nodes):
        laws = (*LAWS[BaseNode], *LAWS[type(node)])
        found = [text for law in laws for text in law(node)]
        if twins.setdefault(_content(node), node) is not node:
            found.append("a second node with the same content")
        what = f"{type(node).__name__} {node.serial}"
        complaints += [f"{what}: {text}" for text in found]
    if complaints:
        raise InternalError("the representation is broken:\n" + "\n".join(complaints))


def _content(node: Node) -> object:
    names = (field.name for field in fields(node))
    return type(node), tuple(
        getattr(node, n) for n in names if n not in ("serial", "known")
    )


# Any node


def _dims(node: Node) -> Complaints:
    if not all(isinstance(dim, Dim) for dim in node.dims):
        yield f"dims {node.dims} are not all Dims"
    for dim in node.dims:
        if dim.constant is not None and dim.constant < 0:
            yield f"negative dim {dim}"


def _after_operands(node: Node) -> Complaints:
    for child in children(node):
        if child.serial >= node.serial:
            yield f"made before its operand {child.serial}"


# Leaves


def _scalar(node: Node) -> Complaints:
    if node.dims:
        yield "not a scalar"


def _input(node: Input) -> Complaints:
    if not node.name.isidentifier():
        yield f"{node.name!r} is no name"


def _constant(node: Constant) -> Complaints:
    if node.name not in ("pi", "e", "inf"):
        yield f"no constant is called {node.name!r}"


def _size(node: Size) -> Complaints:
    if node.value.constant is not None:
        yield "a number is a product without factors"


def _iota(node: Iota) -> Complaints:
    if node.order != 1:
        yield "not a vector"


# Products


def _factors_fit(node: Product) -> Complaints:
    for factor, labels in node.factors:
        yield from _fits(factor, labels, node.sizes)


def _fits(operand: Node, labels: tuple[int, ...], sizes: tuple[Dim, ...]) -> Complaints:
    if len(labels) != operand.order:
        yield f"{len(labels)} labels for an operand of order {operand.order}"
        return
    for label, dim in zip(labels, operand.dims, strict=True):
        if not 0 <= label < len(sizes):
            yield f"label {label} out of range"
        elif sizes[label] != dim:
            yield f"label {label} of dim {sizes[label]} at an axis of dim {dim}"


def _constraints_fit(node: Product) -> Complaints:
    for constraint in node.constraints:
        for atom, _ in constraint.form.terms:
            if isinstance(atom, Lookup):
                if index_bound(atom.node) is None:
                    yield "a lookup in what is no index array"
                yield from _fits(atom.node, atom.labels, node.sizes)
            elif not 0 <= atom < len(node.sizes):
                yield f"label {atom} out of range in a constraint"


def _constraints_are_reduced(node: Product) -> Complaints:
    for constraint in node.constraints:
        kind, form = constraint
        atoms = [atom for atom, _ in form.terms]
        coefficients = [c for _, c in form.terms]
        if kind not in ("eq", "ge"):
            yield f"a constraint of kind {kind!r}"
        if not all(coefficients) or len(set(atoms)) < len(atoms):
            yield "an atom with coefficient 0 or twice in a form"
        if list(form.terms) != sorted(form.terms, key=atom_key):
            yield "the atoms of a form out of order"
        if not atoms and form.const.constant is not None:
            yield "a constraint that is decided"
        if kind == "eq" and coefficients and coefficients[0] < 0:
            yield "a delta that starts with a negative coefficient"
        if (
            kind == "eq"
            and form.const.constant is not None
            and coefficients
            and gcd(*coefficients) != 1
        ):
            yield "a delta with a common divisor"
        if _renames(node, constraint):
            yield "a delta that only renames a summed label"


def _renames(node: Product, constraint: Constraint) -> bool:
    kind, form = constraint
    labels = form.labels
    return (
        kind == "eq"
        and form.const == 0
        and [c for _, c in form.terms] == [1, -1]
        and all(isinstance(atom, int) for atom, _ in form.terms)
        and max(labels) in range(node.order, len(node.sizes))
        and len({node.sizes[label] for label in labels}) == 1
    )


def _bounds_are_not_implied(node: Product) -> Complaints:
    sizes = dict(enumerate(node.sizes))
    for kind, form in node.constraints:
        if any(label not in sizes for label in form.labels):
            continue
        ranges = Ranges.of(sizes)
        reach = ranges.bounds(form)
        if kind == "ge" and reach is not None and ranges.holds(reach[0]):
            yield "an indicator that its ranges imply"


def _every_summed_label_is_used(node: Product) -> Complaints:
    used = {label for _, labels in node.factors for label in labels}
    used.update(x for c in node.constraints for x in c.form.labels)
    for label in range(node.order, len(node.sizes)):
        if label not in used:
            yield f"nothing mentions the summed label {label}"


def _zero_is_bare(node: Product) -> Complaints:
    if not node.coefficient and (node.factors or node.constraints or node.inner):
        yield "a zero with factors, constraints or summed labels"


def _factors_are_heavy(node: Product) -> Complaints:
    for factor, _ in node.factors:
        if is_zero(factor):
            yield "a zero factor"
        elif is_light(factor):
            yield f"factor {factor.serial} merely scales, moves or spreads another"
        elif isinstance(factor, Product) and factor.coefficient != 1:
            yield f"factor {factor.serial} keeps a coefficient of its own"


def _does_something(node: Product) -> Complaints:
    plain = node.coefficient == 1 and not (node.constraints or node.inner)
    axes = tuple(range(node.order))
    if plain and [labels for _, labels in node.factors] == [axes]:
        yield "a product that is its only factor"


def _product_order(node: Product) -> Complaints:
    refs = [(ref.node.serial, ref.labels) for ref in node.factors]
    if refs != sorted(refs):
        yield "factors out of order"
    keys = [constraint_key(c) for c in node.constraints]
    if keys != sorted(keys) or len(set(keys)) < len(keys):
        yield "constraints out of order or twice"


def _canonical(node: Product) -> Complaints:
    summed = range(node.order, len(node.sizes))
    names = canonical_labels(node.order, summed, node.factors, node.constraints)
    renamed = sorted(
        (ref.node.serial, tuple(names.get(x, x) for x in ref.labels))
        for ref in node.factors
    )
    if renamed != [(ref.node.serial, ref.labels) for ref in node.factors]:
        yield "labels that are not the canonical ones"


# Sums and maps


def _terms_fit(node: Sum) -> Complaints:
    for _, operand, labels in node.terms:
        yield from _fits(operand, labels, node.dims)


def _terms_are_reduced(node: Sum) -> Complaints:
    if len(node.terms) < 2:
        yield "fewer than two terms"
    for coefficient, operand, _ in node.terms:
        if not coefficient or is_zero(operand):
            yield "a zero term"
        elif isinstance(operand, Product) and operand.coefficient != 1:
            yield f"term {operand.serial} keeps a coefficient of its own"


def _sum_order(node: Sum) -> Complaints:
    refs = [(term.node.serial, term.labels) for term in node.terms]
    if refs != sorted(refs) or len(set(refs)) < len(refs):
        yield "terms out of order or twice"


def _args_fit(node: Map) -> Complaints:
    for operand, labels in node.args:
        yield from _fits(operand, labels, node.dims)


def _every_axis_is_used(node: Sum | Map) -> Complaints:
    refs = _refs(node)
    used = {label for ref in refs for label in ref.labels}
    for axis in range(node.order):
        if axis not in used:
            yield f"no operand has axis {axis}"
    for ref in refs:
        if len(set(ref.labels)) < len(ref.labels):
            yield "an operand with a label twice"


def _operands_are_narrow(node: Sum | Map) -> Complaints:
    for operand, _ in _refs(node):
        if isinstance(operand, Product) and _moves(operand):
            yield f"operand {operand.serial} merely moves or broadcasts another"


def _moves(node: Product) -> bool:
    if node.constraints or node.inner or (node.factors and node.coefficient != 1):
        return False
    if not node.factors:
        return node.order > 0
    labels = node.factors[0].labels
    return len(node.factors) == 1 and len(set(labels)) == len(labels)


def _refs(node: Sum | Map) -> list[Ref]:
    if isinstance(node, Map):
        return list(node.args)
    return [Ref(term.node, term.labels) for term in node.terms]


# Calls


def _params(node: Call) -> Complaints:
    names = [name for name, _ in node.params]
    if names != sorted(set(names)):
        yield "parameters out of order or twice"
    if not node.args:
        yield "a call without arguments"


Law = Callable[[Any], Complaints]

LAWS: dict[type[BaseNode], tuple[Law, ...]] = {
    BaseNode: (_dims, _after_operands),
    Input: (_input,),
    Constant: (_scalar, _constant),
    Size: (_scalar, _size),
    Iota: (_iota,),
    Product: (
        _factors_fit,
        _constraints_fit,
        _constraints_are_reduced,
        _bounds_are_not_implied,
        _every_summed_label_is_used,
        _zero_is_bare,
        _factors_are_heavy,
        _does_something,
        _product_order,
        _canonical,
    ),
    Sum: (
        _terms_fit,
        _terms_are_reduced,
        _sum_order,
        _every_axis_is_used,
        _operands_are_narrow,
    ),
    Map: (_args_fit, _every_axis_is_used, _operands_are_narrow),
    Call: (_params,),
}
