"""What a generated function returns: annotation, return statement, result classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tensorgen.arrays.reading import LINE
from tensorgen.calculus.kinds import JACOBIAN, Kind
from tensorgen.emit.interface import Function, Holder
from tensorgen.emit.module import Module
from tensorgen.emit.text import FILLED, literal, words
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.spec.names import unused


@dataclass(frozen=True, slots=True)
class Fields:
    """A NamedTuple with one field for each `wrt` input, of a type each.

    Two are `joined` by an expression for each field, if by any.
    """

    name: str
    function: str
    what: str
    types: tuple[tuple[str, str], ...]
    joined: tuple[str, ...] = ()


# The class of second derivatives by several inputs; a row says the others.
JOINT = "JointHessian"
JOINT_DERIVATIVE = "JointDerivative"
SPARSE_JOINT = "_SparseJointHessian"

WHY = "# the form that needs less memory"
EXCEPT = ["except _CancellationError:  # the dense matrix keeps what its parts lose"]


def array_type(dims: tuple[Dim, ...]) -> str:
    """Return the annotation of a result with these dims."""
    return "Array" if dims else "Scalar"


def result_class(function: Function) -> str | None:
    """Return the class of derivative objects that a function returns, if any."""
    kind = function.kind
    if kind.by == "pair" and kind.holder and len(function.wrt) > 1:
        return JOINT
    if kind.by == "all":
        return JOINT_DERIVATIVE
    return block_class(function, 0, kind.holder) if kind.holder else None


def is_sparse_joint(function: Function) -> bool:
    """Whether a joint Hessian has few entries in every row."""
    return bool(function.holders) and all(h.sides for h in function.holders)


def object_type(function: Function) -> str:
    """Return the annotation of a derivative object, whatever its form."""
    return _either(str(result_class(form)) for form in function.forms)


def _either(types: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(types))


def block_class(function: Function, block: int, dense: str) -> str:
    """Return the class of one of the objects: `dense`, or one of its own."""
    if not function.holders or function.holders[block].filled:
        return dense
    return function.holders[block].class_name or dense


def used_classes(functions: Sequence[Function]) -> set[str]:
    """Return the classes of derivative objects that functions make."""
    found = {c for c in map(result_class, functions) if c is not None}
    for function in functions:
        holders = function.holders or (Holder(),)
        dense = any(h.class_name is None or h.filled for h in holders)
        if dense and len(function.blocks) > 1 and function.kind.holder:
            found.add(function.kind.holder)
            found |= {JACOBIAN.holder} if function.kind.by == "pair" else set()
    return found


def fields(function: Function, kind: Kind) -> Fields | None:
    """Return the NamedTuple of what a kind returns for several `wrt` inputs."""
    if len(function.wrt) < 2 or kind.by != "each":
        return None
    types = tuple(
        (
            _either(block_class(form, k, kind.holder) for form in function.forms)
            if kind.holder
            else array_type(function.block_dims(kind, [x]))
        )
        for k, x in enumerate(function.wrt)
    )
    name = kind.tuple_name(function.function)
    own = tuple(zip(function.wrt, types, strict=True))
    words = _WORDS if function.over is None else _WORDS_BY_SAMPLE
    return Fields(name, function.function, words[kind.bundle], own)


def result_fields(function: Function, kind: Kind) -> Fields | None:
    """Return the NamedTuple of what a kind returns for several results."""
    own = [(name, _type(f, kind)) for name, f in function.of_part(kind) if name]
    if not own:
        return None
    name = kind.tuple_name(function.function, function.order)
    what = kind.told or f"One field for each result of `{function.function}`."
    joined = zip(kind.joined, own, strict=False)
    texts = tuple(_joined(step, field) for step, (field, _) in joined)
    return Fields(name, function.function, what, tuple(own), texts)


OF_ALGEBRA = {"add": "{} + {}", "multiply": "{} * {}"}


def _joined(step: str, field: str) -> str:
    """The expression that joins one field of two tuples, by a function of two.

    Of what is above another field the function takes both.
    """
    name, _, above = step.partition(" ")
    if above:
        both = (f"{of}.{x}" for of in ("self", "other") for x in (field, above))
        return f"_joined_{name}s({', '.join(both)})"
    text = OF_ALGEBRA.get(step) or ELEMENTWISE[step].numpy
    return text.format(f"self.{field}", f"other.{field}")


_WORDS = {
    "Gradient": "One array for each input, shaped like it: a gradient, or the like.",
    "Cotangents": "The derivative weighted by a cotangent, for each input.",
    "Jacobian": "The Jacobians with respect to each input.",
    "DenseJacobian": "The Jacobians with respect to each input, as arrays.",
}

_WORDS_BY_SAMPLE = {
    "Gradient": "By each input, a gradient or the like of each sample.",
    "Cotangents": "By each input, the derivative of each sample times its cotangent.",
    "Jacobian": "By each input, the Jacobian of each sample.",
    "DenseJacobian": "By each input, the Jacobian of each sample.",
}


def all_fields(module: Module) -> list[Fields]:
    """Return the NamedTuples of a module, each once, in order of use."""
    found = (
        made
        for function in module.functions
        for kind in function.kind.parts
        for made in (
            *(fields(own, kind) for own in function.alone if own.has(kind)),
            result_fields(function, kind),
        )
    )
    return list(dict.fromkeys(f for f in found if f is not None))


def annotation(function: Function) -> str:
    """Return the type of what a function returns."""
    parts = [_type(function, kind) for kind in function.kind.parts]
    return parts[0] if len(parts) == 1 else f"tuple[{', '.join(parts)}]"


def _type(function: Function, kind: Kind) -> str:
    if (tuples := result_fields(function, kind)) is not None:
        return tuples.name
    for _, own in function.of_part(kind):
        return _type(own, kind)
    blocks, several = kind.blocks(function.wrt, function.order), fields(function, kind)
    if several is not None:
        return several.name
    if kind.only:
        return "dict[tuple[str, str], Any]"
    if kind.holder:
        return object_type(function)
    if len(blocks) > 1:
        return "dict[tuple[str, str], Array]"
    return array_type(function.block_dims(kind, blocks[0]))


def statements(
    function: Function,
    returned: Callable[[Function, bool], list[str]],
    several: bool = False,
) -> list[str]:
    """Return the lines behind a function's checks, to what is `returned`.

    That is told whether there are `several` ends of a function.
    """
    several = several or bool(function.choices) or function.undivided is not None
    found = _statements(function, returned, several)
    return [row for text in found for row in text.split("\n")]


def _statements(
    function: Function, returned: Callable[[Function, bool], list[str]], several: bool
) -> list[str]:
    found = [*function.body.lines, *returned(function, several)]
    for choice in reversed(function.choices):
        own = choice.function
        other = [*own.body.lines, *returned(own, several)]
        if other == found:
            continue
        shared = 0
        while found[shared] == other[shared]:
            shared += 1
        branch = "\n".join(other[shared:]).replace("\n", "\n    ")
        first = f"if {choice.condition}:  {WHY}"
        if len(first.replace("*", " * ")) > FILLED:  # it would be cut in three
            first = f"{WHY}\nif {choice.condition}:"
        found = [*found[:shared], f"{first}\n    {branch}", *found[shared:]]
    if function.undivided is not None:
        other = statements(function.undivided, returned, several)
        found = ["try:", *_indented(found), *EXCEPT, *_indented(other)]
    return found


def _indented(lines: Sequence[str]) -> list[str]:
    return ["    " + line.replace("\n", "\n    ") for line in lines]


def return_lines(function: Function, several: bool = False) -> list[str]:
    """Return the last statements of a function, from the expressions of its body.

    Where there are `several` ends, nothing gets a name there: it would have a type in
    each.
    """
    if not function.results:
        lines, values = _returned(function, several)
        return [*lines, "return " + ", ".join(values)]
    lines, made = [], dict[str, list[str]]()
    for name, own in function.results:
        before, values = _returned(own, several, name)
        lines += before
        made[name] = values
    found = []
    for part in function.kind.parts:
        values = []
        for name, own in function.of_part(part):
            parts = [kind.name for kind in own.kind.parts]
            value = made[name][parts.index(part.name)]
            values.append(f"{name}={value}" if name else value)
        tuples = result_fields(function, part)
        found.append(", ".join(values))
        if tuples is not None:
            found[-1] = f"{tuples.name}({found[-1]})"
    return [*lines, "return " + ", ".join(found)]


def _returned(
    function: Function, several: bool, result: str = ""
) -> tuple[list[str], list[str]]:
    """Return what is returned, one expression a part, and the lines before it.

    Of one of several, the name of the `result` sets names apart.
    """
    if function.composed:
        return [], [*function.body.returns]
    values, kind = iter(function.body.returns), function.kind
    lead = [
        _bundle(function, part, [next(values) for _ in part.blocks(function.wrt)])
        for part in kind.lead
    ]
    if kind.by == "pair" and len(function.wrt) > 1 and not kind.holder:
        lines, made = _dense_blocks(function, [*values])
        return lines, [*lead, made]
    own = objects(function) if kind.holder else tuple(values)
    if kind.by == "all":
        items = (
            f"{tuple_text([literal(x) for x in block])}: {made}"
            for block, made in zip(function.blocks, own, strict=True)
        )
        axes = ", ".join(
            f"{literal(x)}: {len(function.parameter(x).dims)}" for x in function.wrt
        )
        whole = f"{JOINT_DERIVATIVE}({{{', '.join(items)}}}, {{{axes}}})"
        return [], [*lead, whole]
    if kind.holder and kind.by == "pair" and (len(own) > 1 or kind.only):
        return _joint(function, lead, own, result, several)
    return [], [*lead, _bundle(function, kind, own)]


def _joint(
    function: Function,
    lead: Sequence[str],
    blocks: Sequence[str],
    result: str,
    several: bool,
) -> tuple[list[str], list[str]]:
    """A joint Hessian; its blocks have names where that leaves a line each."""
    made = SPARSE_JOINT if is_sparse_joint(function) else JOINT
    first = [result] * bool(result)
    named = [_fresh("_".join([*first, *x]), function) for x in function.blocks]

    def whole(values: Sequence[str]) -> str:
        items = zip(function.blocks, values, strict=True)
        inside = ", ".join(f'("{a}", "{b}"): {value}' for (a, b), value in items)
        return f"{{{inside}}}" if function.kind.only else f"{made}({{{inside}}})"

    def line(values: Sequence[str]) -> str:
        return ", ".join(["return", *lead, whole(values)])

    if several or len(line(blocks)) <= LINE or len(line(named)) > LINE:
        return [], [*lead, whole(blocks)]
    rows = [f"{name} = {block}" for name, block in zip(named, blocks, strict=True)]
    return rows, [*lead, whole(named)]


def objects(function: Function) -> tuple[str, ...]:
    """Return the calls that make the derivative object of each block."""
    kind, found = function.kind, []
    for k, block in enumerate(function.blocks):
        axes = [len(function.parameter(x).dims) for x in block]
        inputs = "".join(f"{count}, " for count in axes)
        shown = f"({inputs})" if kind.is_higher else axes[-1]
        # Off the diagonal a second derivative is the Jacobian of a gradient.
        mixed = kind.by == "pair" and len(set(block)) > 1
        name = JACOBIAN.holder if mixed else kind.holder
        found.append(_derivative(name, function, k, shown))
    return tuple(found)


def _bundle(function: Function, kind: Kind, values: Iterable[str]) -> str:
    tuple_type = fields(function, kind)
    if tuple_type is None:
        (value,) = values
        return value
    given = (f"{x}={v}" for x, v in zip(function.wrt, values, strict=True))
    return f"{tuple_type.name}({', '.join(given)})"


def _derivative(name: str, function: Function, block: int, axes: object) -> str:
    """Return the call that makes the object of a block from returned expressions."""
    lead = sum(len(kind.blocks(function.wrt)) for kind in function.kind.lead)
    holders = function.holders or (Holder(),) * (block + 1)
    first = lead + sum(holder.count for holder in holders[:block])
    holder = holders[block]
    values = function.body.returns[first : first + holder.count]
    if holder.class_name is not None:
        arrays = ", ".join(
            f'"{f}": {v}' for f, v in zip(holder.fields, values, strict=True)
        )
        given = ", ".join([f"{{{arrays}}}", tuple_text(holder.sizes), *holder.sides])
        made = f"{holder.class_name}({given})"
        return f"{name}({made}.dense(), {axes})" if holder.filled else made
    return f"{name}({values[0]}, {axes})"


def _dense_blocks(function: Function, values: Sequence[str]) -> tuple[list[str], str]:
    """Return all ordered pairs, those below the diagonal transposed from above."""
    lines: list[str] = []
    entries = {}
    for (a, b), value in zip(function.blocks, values, strict=True):
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
    return lines, f"{{{items}}}"


def _transposition(function: Function, a: str, b: str) -> str:
    """Return the method call that swaps the axes of a with those of b."""
    first = len(function.dims)
    middle = first + len(function.sample_dims(a))
    last = middle + len(function.sample_dims(b))
    order = [*range(first), *range(middle, last), *range(first, middle)]
    if order == sorted(order):
        return ""
    if order == [1, 0]:
        return ".T"
    return f".transpose({', '.join(map(str, order))})"


def _fresh(name: str, function: Function) -> str:
    taken = words([*function.text, *(p.name for p in function.parameters)])
    return unused(name, taken)
