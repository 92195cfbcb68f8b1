"""What is no fault of a spec, but worth to be known of its derivatives.

A warning is of what nobody means to ask for; a note of what is right, but depends on
what the spec does not say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from math import prod

from tensorgen.calculus.kinds import HESSIAN, JACOBIAN, Kind
from tensorgen.errors import Remark, Text
from tensorgen.ir import effort
from tensorgen.ir.nodes import is_zero
from tensorgen.lang import ElaboratedFunction
from tensorgen.plans.planned import PlannedFunction
from tensorgen.prices.thresholds import NOTED_IF_DENSE, are_hinted
from tensorgen.structure.stored import as_compressed

INSTEAD: Mapping[Kind, str] = {
    HESSIAN: "'hvp' multiplies by it and stores none of them",
    JACOBIAN: "'jvp' and 'vjp' multiply by it and store none of them",
}

BASES = {
    True: (
        "a diagonal plus low rank",
        "that the diagonal is positive; promise it of the input, {shape: [n], "
        "positive: true}",
    ),
    False: (
        "a matrix of few entries plus low rank",
        "that the first is positive definite; promise it, spd(...)",
    ),
}
"""What low rank is added to, whether or not it is a diagonal, and what would help."""


def remarks(
    plans: Iterable[PlannedFunction], hints: Mapping[str, int]
) -> Iterator[Remark]:
    """What to report of public functions, for the sizes that a spec hints at."""
    for planned in plans:
        yield from _of_function(planned, hints)


def hurried(
    late: Iterable[tuple[Text, str]], functions: Iterable[ElaboratedFunction]
) -> Iterator[Remark]:
    """What to report of what was planned in a hurry: where most of it stands."""
    largest = {f.spec.name: f.largest for f in functions}
    for name, doing in late:
        where = largest.get(name.value)
        most = f"; most of it is '{where}'" if where else ""
        message = (
            f"{doing} takes more than {effort.PLANNING:,} steps, so the first order "
        )
        message += f"of computation found is used, which need not be the cheapest{most}"
        yield Remark(message, name.span(), "hurried", True)


def _of_function(
    planned: PlannedFunction, hints: Mapping[str, int]
) -> Iterator[Remark]:
    kind, span = planned.kind, planned.source.spec.name_text.span()
    if kind.beside and kind.holder:
        return  # it has the derivative of another one
    yield from _of_blocks(planned, hints)
    if planned.filled:
        message = f"{planned.label} is dense, and sparse matrices are filled in for it"
        if kind in INSTEAD:
            message += f"; {INSTEAD[kind]}"
        yield Remark(message, span, "filled", True)
    if planned.others:
        yield Remark(_undecided(planned, hints.keys()), span, "forms")


def _of_blocks(planned: PlannedFunction, hints: Mapping[str, int]) -> Iterator[Remark]:
    """What to report of each derivative, of one result after another."""
    if planned.members:
        for member in planned.members:
            yield from _of_blocks(member.planned, hints)
        return
    span = planned.source.spec.name_text.span()
    if zero := _zero(planned):
        yield Remark(zero, span, "zero", True)
    for block in range(len(planned.tensors)):
        if dense := _dense(planned, block, hints):
            yield Remark(dense, span, "dense", True)
    for matrix, is_diagonal in planned.unpromised:
        what, lacking = BASES[is_diagonal]
        yield Remark(
            f"{planned.label}: {matrix} is {what}, but is solved as a dense matrix, "
            f"for it is not known {lacking}",
            span,
            "promise",
        )


def _zero(planned: PlannedFunction) -> str | None:
    """What to say of a derivative, or of a first one by some input, that is zero."""
    kind = planned.kind
    if kind.argument or kind.by == "nothing":
        return None
    blocks = kind.blocks(planned.wrt, planned.order)
    formulas = planned.plan.formulas[-len(blocks) :]
    zero = [
        block for block, root in zip(blocks, formulas, strict=True) if is_zero(root)
    ]
    if not zero or (kind.by != "each" and len(zero) < len(blocks)):
        return None
    names = ", ".join(dict.fromkeys(name for block in zero for name in block))
    by = f" by {names}" if len(planned.wrt) > 1 else ""
    return f"{planned.label}{by} is zero everywhere"


def _dense(
    planned: PlannedFunction, block: int, hints: Mapping[str, int]
) -> str | None:
    """What to say of a block that is dense and large by the hints."""
    place = planned.tensors[block]
    tensor, root = (
        as_compressed(planned.plan.tensors)[place],
        planned.plan.formulas[place],
    )
    if tensor is not None and not tensor.is_dense:
        return None
    if not are_hinted(hints, root.dims):
        return None
    sizes = [dim.value(hints) for dim in root.dims]
    if prod(sizes) <= NOTED_IF_DENSE:
        return None
    name = planned.label
    if len(planned.tensors) > 1:
        name += f" by {', '.join(planned.blocks[block])}"
    # Looked for is structure where it is known what calculus has derived.
    gave_up = (tensor is None and planned.plan.derived) or (tensor and tensor.stopped)
    why = ", for looking for a structure takes too long" if gave_up else ""
    numbers = f"{' * '.join(f'{size:,}' for size in sizes)} numbers at the hints"
    instead = INSTEAD.get(planned.kind)
    return f"{name} is dense{why}: {numbers}" + (f"; {instead}" if instead else "")


def _undecided(planned: PlannedFunction, hinted: Collection[str]) -> str:
    """What to report of a function whose form depends on sizes without hints."""
    sizes = [size for other in planned.others for size in (other.less, *other.than)]
    symbols = {s for size in sizes for s in size.symbols}
    *some, last = sorted(symbols - set(hinted))
    names = f"{', '.join(some)} and {last}" if some else last
    count = 1 + len(planned.others)
    forms = "two" if count == 2 else "three" if count == 3 else str(count)
    return (
        f"{planned.name} has {forms} forms and uses the one that needs least memory "
        f"for the sizes of its arguments; hints for {names} leave one"
    )
