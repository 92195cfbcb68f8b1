"""What a generated function returns: annotation, return statement, result classes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tensorgen.emit.model import Function, Holder, pairs
from tensorgen.emit.module import Module
from tensorgen.emit.text import literal
from tensorgen.ir.dims import Dim


@dataclass(frozen=True, slots=True)
class Fields:
    """A NamedTuple with one field for each `wrt` input, of a type each."""

    name: str
    function: str
    what: str
    types: tuple[tuple[str, str], ...]


# What the classes of objects are called, by what they hold.
JACOBIAN, HESSIAN, JOINT, HIGHER = "Jacobian", "Hessian", "JointHessian", "Derivative"


def camel(name: str) -> str:
    """Return a function's name as the start of a class name: my_loss as MyLoss."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def array_type(dims: tuple[Dim, ...]) -> str:
    """Return the annotation of a result with these dims."""
    return "Array" if dims else "Scalar"


def result_class(function: Function) -> str | None:
    """Return the class of derivative objects that a function returns, if any."""
    match function.kind:
        case "jacobian":
            return block_class(function, 0, JACOBIAN)
        case "hessian" | "value_gradient_hessian":
            if len(function.wrt) > 1:
                return JOINT
            return block_class(function, 0, HESSIAN)
        case "order" | "mixed":
            return block_class(function, 0, HIGHER)
    return None


def block_class(function: Function, block: int, dense: str) -> str:
    """Return the class of one of the objects: `dense`, or one of its own."""
    name = function.holders[block].class_name if function.holders else None
    return dense if name is None else name


def used_classes(module: Module) -> set[str]:
    """Return the classes of derivative objects that a module makes."""
    found = {c for c in map(result_class, module.functions) if c is not None}
    for function in module.functions:
        dense = [h for h in function.holders if h.class_name is None]
        match function.kind:
            case "jacobian" if dense or not function.holders:
                found.add(JACOBIAN)
            case "hessian" | "value_gradient_hessian" if len(function.wrt) > 1:
                found |= {HESSIAN, JACOBIAN} if dense or not function.holders else set()
    return found


def fields(function: Function) -> Fields | None:
    """Return the NamedTuple that a function of several `wrt` inputs returns."""
    if len(function.wrt) < 2:
        return None
    own = [(x, array_type(function.parameter(x).dims)) for x in function.wrt]
    match function.kind:
        case "gradient" | "value_and_gradient" | "value_gradient_hessian" | "hvp":
            what = "Gradient"
        case "vjp":
            what = "Cotangents"
        case "jacobian":
            what = "Jacobian"
            own = [
                (x, block_class(function, k, JACOBIAN))
                for k, x in enumerate(function.wrt)
            ]
        case "dense_jacobian":
            what = "DenseJacobian"
            dims = function.dims
            own = [
                (x, array_type(dims + function.parameter(x).dims)) for x in function.wrt
            ]
        case _:
            return None
    name = camel(function.function) + what
    return Fields(name, function.function, _WORDS[what], tuple(own))


_WORDS = {
    "Gradient": "One array for each input, shaped like it: a gradient, or the like.",
    "Cotangents": "The derivative weighted by a cotangent, for each input.",
    "Jacobian": "The Jacobians with respect to each input.",
    "DenseJacobian": "The Jacobians with respect to each input, as arrays.",
}


def all_fields(module: Module) -> list[Fields]:
    """Return the NamedTuples of a module, each once, in order of use."""
    found = (fields(function) for function in module.functions)
    return list(dict.fromkeys(f for f in found if f is not None))


def annotation(function: Function) -> str:
    """Return the type of what a function returns."""
    value = array_type(function.dims)
    tuple_type = fields(function)
    match function.kind:
        case "value":
            return value
        case "hessian" | "order" | "mixed":
            return str(result_class(function))
        case "dense_hessian" if len(function.wrt) > 1:
            return "dict[tuple[str, str], Array]"
    parts = [tuple_type.name] if tuple_type else [_single(function)]
    match function.kind:
        case "value_and_gradient" | "jvp" | "vjp":
            parts = [value, *parts]
        case "value_gradient_hessian":
            parts = [value, *parts, str(result_class(function))]
    return parts[0] if len(parts) == 1 else f"tuple[{', '.join(parts)}]"


def _single(function: Function) -> str:
    (x,) = function.wrt if len(function.wrt) == 1 else (None,)
    own = function.parameter(x).dims if x is not None else ()
    match function.kind:
        case "jacobian":
            return block_class(function, 0, JACOBIAN)
        case "jvp":
            return array_type(function.dims)
        case "dense_jacobian":
            return array_type(function.dims + own)
        case "dense_hessian":
            return array_type(function.dims + own + own)
    return array_type(own)


def return_lines(function: Function) -> list[str]:
    """Return the last statements of a function, from the expressions of its body."""
    values = function.body.returns
    kind, wrt = function.kind, function.wrt
    lead: tuple[str, ...] = ()
    if kind in ("value_and_gradient", "value_gradient_hessian", "jvp", "vjp"):
        lead, values = values[:1], values[1:]
    match kind:
        case "value_gradient_hessian":
            gradient = _bundle(function, values[: len(wrt)])
            return _return(*lead, gradient, _hessian(function))
        case "jvp":
            return _return(*lead, *values)
        case "hessian":
            return _return(_hessian(function))
        case "dense_hessian" if len(wrt) > 1:
            return _dense_blocks(function)
        case "order" | "mixed":
            axes = (len(function.parameter(x).dims) for x in function.order)
            inputs = "".join(f"{count}, " for count in axes)
            return _return(_derivative(HIGHER, function, 0, f"({inputs})"))
        case "jacobian":
            values = jacobian_blocks(function)
    return _return(*lead, _bundle(function, values))


def jacobian_blocks(function: Function) -> tuple[str, ...]:
    """Return the calls that make the Jacobian with respect to each input."""
    return tuple(
        _derivative(JACOBIAN, function, k, len(function.parameter(x).dims))
        for k, x in enumerate(function.wrt)
    )


def _return(*values: str) -> list[str]:
    return ["return " + ", ".join(values)]


def _bundle(function: Function, values: Iterable[str]) -> str:
    tuple_type = fields(function)
    if tuple_type is None:
        (value,) = values
        return value
    given = (f"{x}={v}" for x, v in zip(function.wrt, values, strict=True))
    return f"{tuple_type.name}({', '.join(given)})"


def _derivative(name: str, function: Function, block: int, axes: object) -> str:
    """Return the call that makes the object of a block from returned expressions."""
    lead = 0
    if function.kind == "value_gradient_hessian":
        lead = 1 + len(function.wrt)
    holders = function.holders or (Holder(),) * (block + 1)
    first = lead + sum(holder.count for holder in holders[:block])
    holder = holders[block]
    values = function.body.returns[first : first + holder.count]
    if holder.class_name is not None:
        arrays = ", ".join(
            f'"{f}": {v}' for f, v in zip(holder.fields, values, strict=True)
        )
        sizes = ", ".join(holder.sizes) + "," * (len(holder.sizes) == 1)
        return f"{holder.class_name}({{{arrays}}}, ({sizes}))"
    texts = function.structure
    structure = texts[lead + block] if lead + block < len(texts) else "dense"
    return f"{name}({values[0]}, {axes}, {literal(structure)})"


def _hessian(function: Function) -> str:
    found = pairs(function.wrt)
    blocks = [
        _derivative(
            HESSIAN if a == b else JACOBIAN,
            function,
            k,
            len(function.parameter(b).dims),
        )
        for k, (a, b) in enumerate(found)
    ]
    if len(found) == 1:
        return blocks[0]
    items = (f'("{a}", "{b}"): {h}' for (a, b), h in zip(found, blocks, strict=True))
    return f"{JOINT}({{{', '.join(items)}}})"


def _dense_blocks(function: Function) -> list[str]:
    """Return all ordered pairs, those below the diagonal transposed from above."""
    lines: list[str] = []
    entries = {}
    for (a, b), value in zip(pairs(function.wrt), function.body.returns, strict=True):
        turned = _transposition(function, a, b)
        if a != b and not value.isidentifier():
            name = _fresh(f"{function.function}_{a}_{b}", function)
            lines.append(f"{name} = {value}")
            value = name
        entries[a, b] = value
        if a != b:
            entries[b, a] = value + turned
    order = [(a, b) for a in function.wrt for b in function.wrt]
    items = ", ".join(f'("{a}", "{b}"): {entries[a, b]}' for a, b in order)
    return [*lines, f"return {{{items}}}"]


def _transposition(function: Function, a: str, b: str) -> str:
    """Return the method call that swaps the axes of a with those of b."""
    first = len(function.dims)
    middle = first + len(function.parameter(a).dims)
    last = middle + len(function.parameter(b).dims)
    order = [*range(first), *range(middle, last), *range(first, middle)]
    if order == sorted(order):
        return ""
    if order == [1, 0]:
        return ".T"
    return f".transpose({', '.join(map(str, order))})"


def _fresh(name: str, function: Function) -> str:
    taken = " ".join((*function.body.lines, *(p.name for p in function.parameters)))
    while name in taken:
        name += "_"
    return name
