"""Where a factor is zero: a product with it needs no mask of its own there."""

from __future__ import annotations

from collections.abc import Iterator

from tensorgen.ir.nodes import Constraint, Map, Product, Ref, constant_value


def masks_of(factor: Ref) -> Iterator[Ref]:
    """The masks outside of which a factor is zero, as `where(mask, x, 0)**2` is."""
    match factor.node:
        case Map(function="pow", args=(base, exponent)):
            power = constant_value(exponent.node)
            if power is not None and power > 0:
                yield from masks_of(base.under(factor))
        case Map(function="where", args=(mask, _, rest)):
            if constant_value(rest.node) == 0:
                yield from parts(mask.under(factor))


def parts(mask: Ref) -> Iterator[Ref]:
    """The masks that all hold where one does, itself among them."""
    yield mask
    if isinstance(mask.node, Map) and mask.node.function == "logical_and":
        for arg in mask.node.args:
            yield from parts(arg.under(mask))
    elif isinstance(mask.node, Product) and not mask.node.inner:
        for factor in mask.node.factors:
            yield from parts(factor.under(mask))


def implied(factor: Ref) -> Iterator[Constraint]:
    """The indicators outside of which a factor is zero, in its labels."""
    for node, labels in masks_of(factor):
        if isinstance(node, Product) and not node.inner:
            for constraint in node.constraints:
                yield constraint.renamed(labels.__getitem__)
