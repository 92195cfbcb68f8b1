"""What functions make of a block, as private functions that their loops call."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from tensorgen.arrays.arrays import Array
from tensorgen.arrays.block_bodies import blocked_along, blocks_apart, called_by
from tensorgen.arrays.code import Code, code_of
from tensorgen.arrays.object_operations import Called
from tensorgen.arrays.operations import Variable
from tensorgen.arrays.units import variables_of
from tensorgen.arrays.written import written
from tensorgen.emit import returned
from tensorgen.emit.backends import Backend
from tensorgen.emit.interface import Private, body_of, every
from tensorgen.errors import listed
from tensorgen.plans.lowered_functions import SHARED, Made
from tensorgen.plans.read_sizes import read_sizes
from tensorgen.spec.names import unused


def share_blocks(
    formula: str, made: Mapping[str, Made], backend: Backend, taken: set[str]
) -> dict[str, Made]:
    """Return those functions of a formula that go by blocks, as they are then.

    Each is `made` by itself. What is `taken` are private functions, these among them
    then. Those that have several forms stay as they are.
    """
    codes = {
        name: own.codes[0]
        for name, own in made.items()
        if len(own.forms) == 1 and blocked_along(own.codes[0])
    }

    def named(users: Sequence[str]) -> tuple[str, str]:
        first = f"_{formula}_block"
        name = unused(first if first not in taken else f"_{users[0]}_block", taken)
        taken.add(name)
        return name, _about(formula, [made[x] for x in users])

    first = next(iter(made.values())).planned.parameters
    inputs = [p.name for p in every(first)]
    found = blocks_apart(codes, named, inputs)
    return {name: rewritten(made[name], code, backend) for name, code in found.items()}


def rewritten(own: Made, code: Code, backend: Backend) -> Made:
    """A function of one form with other code, which may call private functions."""
    (form,), body = own.forms, own.function.body
    text = written(code, backend.alias, backend.fuses)
    inside = (s for holder in own.function.holders for s in holder.sizes)
    new = replace(
        body_of(text, backend),
        dims=tuple(dict.fromkeys((*text.dims, *inside))),
        positive=body.positive,
        holds=body.holds,
        remarks=body.remarks,
    )
    calls = block_functions([code], backend)
    function = replace(own.function, body=new, calls=calls)
    return replace(own, function=function, forms=[replace(form, code=text)])


def _about(formula: str, users: Sequence[Made]) -> str:
    """What a function does that some functions of a formula call."""
    results = {x for own in users for x in own.words}
    told = [text for word, text in SHARED.values() if word in results]
    others = [f"`{own.planned.name}`" for own in users if not own.words]
    if told == told[:1] and not others:
        return f"Compute what the {told[0]} of `{formula}` needs of a block."
    whose = f" of `{formula}`" if told and not others else ""
    verb = "needs" if len([*told, *others]) == 1 else "need"
    return f"Compute what {listed([*told, *others])}{whose} {verb} of a block."


def block_functions(codes: Collection[Code], backend: Backend) -> tuple[Private, ...]:
    """The functions of blocks that code calls."""
    return tuple(_private(op, backend) for op in called_by(codes))


def _private(op: Called, backend: Backend) -> Private:
    code = code_of(op)
    text = written(code, backend.alias, backend.fuses)
    types: dict[str, str] = {}
    for one in variables_of(code):
        assert isinstance(one.op, Variable)
        types[one.op.name] = _type(one)
    plain = {
        one.op.name: one
        for one in variables_of(code)
        if isinstance(one.op, Variable) and one.op.name in op.takes
        if one.order and one.kind == "float"
    }
    body = body_of(text, backend)
    first = read_sizes(plain, sorted({*body.dims} - {*op.sizes}))
    if body.needs_dtype and not op.typed:
        first.append(f"dtype = {next(iter(plain))}.dtype")
    last = f"return {', '.join(text.returns)}"
    outputs = [
        (name, _type(x)) for name, x in zip(text.returns, code.returns, strict=True)
    ]
    return Private(
        op.function,
        tuple((name, types[name]) for name in op.takes),
        op.sizes,
        op.about,
        tuple(outputs),
        replace(
            body,
            lines=(*text.lines, last),
            returns=(),
            needs_dtype=op.typed,  # as it is called
        ),
        reads=tuple(first),
    )


def _type(one: Array) -> str:
    return returned.array_type(one.dims) if one.kind == "float" else "Any"
