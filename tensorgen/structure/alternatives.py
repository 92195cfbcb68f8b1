"""Other forms of a derivative, where hints do not say which holds least.

Without a hint a size is taken for `UNHINTED`. Whether `diag(d) + V V'` is held as d and
V or as one matrix, whether blocks or the factors that they are made of, may then be
wrong by any factor. So it is looked at what would be held if one of these sizes were
small, or alone large. Of the forms that are found so, as many are emitted as it takes
to hold no more than `GAIN_OF_A_FORM` times the least at any sizes; the function takes
the one that holds least when the sizes are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import product
from math import gcd, lcm
from operator import and_, truediv

from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Node, Product, children, entries, topological
from tensorgen.passes.context import Compress, Context, Kept, Plan
from tensorgen.passes.cost import CostModel
from tensorgen.passes.stored_parts import arrays_of
from tensorgen.prices.limits import FORMS, MOST_FACTORS, UNKNOWN_SIZES
from tensorgen.prices.thresholds import (
    GAIN_OF_A_FORM,
    LARGEST_ARGUMENT,
    LONG,
    SHORT,
    UNHINTED,
)
from tensorgen.structure.stored import Compressed, as_compressed

Tensors = tuple[Compressed | None, ...]
Sizes = dict[str, int]


@dataclass(frozen=True)
class Form:
    """Forms of the tensors of a plan, which together hold `size` numbers.

    `hints` are sizes at which that is little.
    """

    tensors: Tensors
    size: Dim
    hints: Sizes


@dataclass(frozen=True)
class Alternative(Form):
    """A form, to be taken where `less` is smaller than each of the sizes `than`."""

    less: Dim
    than: tuple[Dim, ...]


def alternatives(
    context: Context,
    flat: Plan,
    chosen: Tensors,
    given: Sizes,
    arguments: Sequence[Sequence[Dim]],
) -> list[Alternative]:
    """Return what would hold much less than the `chosen` forms at other sizes.

    `flat` is the plan with its tensors flattened, `given` the hints; the function is
    one of `arguments` of these shapes. The first form whose condition holds is to be
    taken, and the chosen ones where none does.
    """
    symbols = _symbols(flat, context.compressed)
    unknown = sorted(symbols - given.keys())
    if len(symbols) < 2 or not 0 < len(unknown) <= UNKNOWN_SIZES:
        return []
    # A size of a result need not be one of an argument.
    beside = {s: SHORT for x in flat.formulas for dim in x.dims for s in dim.sources}
    possible = [beside | point for point in _possible(unknown, given, arguments)]
    forms, dims = dict[Dim, Form](), dict[Dim, None]()
    for hints in (given, *_ends(unknown, given, possible)):
        tensors = _compressed(context, flat, chosen, hints) if forms else chosen
        arrays = _arrays(flat, tensors)
        dims.update(dict.fromkeys(dim for node in arrays for dim in node.dims))
        form = Form(tensors, entries(arrays), hints)
        forms.setdefault(form.size, form)
    points = [point for point in possible if all(d.value(point) > 0 for d in dims)]
    first, *others = _fewest(_different([*forms.values()], given), points)
    return [
        _compared(form, [*others[k + 1 :], first], given)
        for k, form in enumerate(others)
    ]


def _possible(
    unknown: Sequence[str], given: Sizes, arguments: Sequence[Sequence[Dim]]
) -> Iterator[Sizes]:
    """Sizes beside the hints at which the arguments would still fit into memory."""
    symbols = (s for dims in arguments for dim in dims for s in dim.symbols)
    known = dict.fromkeys(symbols, SHORT) | given
    for numbers in product((SHORT, UNHINTED, LONG), repeat=len(unknown)):
        sizes = {**known, **dict(zip(unknown, numbers, strict=True))}
        cost = CostModel(sizes)
        if all(cost.size(dims) <= LARGEST_ARGUMENT for dims in arguments):
            yield sizes


def _ends(
    unknown: Sequence[str], given: Sizes, possible: Sequence[Sizes]
) -> Iterator[Sizes]:
    """Some sizes as small, the others as large as is possible."""
    fits = {tuple(point[symbol] for symbol in unknown) for point in possible}
    for large in product((False, True), repeat=len(unknown)):
        for most in (LONG, UNHINTED):
            numbers = tuple(most if is_large else SHORT for is_large in large)
            if numbers in fits:
                yield given | dict(zip(unknown, numbers, strict=True))
                break


def _compressed(context: Context, flat: Plan, chosen: Tensors, hints: Sizes) -> Tensors:
    """What would be held at some sizes."""
    graph, cost, tensors = context.graph, CostModel(hints), list[Kept | None](chosen)
    for k, compress in context.compressed.items():
        run = partial(compress, graph, flat.formulas[k], cost, flat.derived[k])
        tensors[k] = graph.effort.attempt(run, tensors[k])
    return as_compressed(tensors)


def _different(forms: Sequence[Form], given: Sizes) -> list[Form]:
    """The first form, and those that read and of which sizes say if they hold less."""
    first, *others = (form for form in forms if form is forms[0] or _reads(form))
    return [first, *(f for f in others if _depends((f.size - first.size).at(given)))]


def _reads(form: Form) -> bool:
    """Whether a reader of the class can tell what its factors are for."""
    stored = (tensor.arrays for tensor in form.tensors if tensor is not None)
    return all(len(arrays) <= MOST_FACTORS for arrays in stored)


def _fewest(forms: Sequence[Form], points: Sequence[Sizes]) -> list[Form]:
    """The first form and others, to hold about the least at all of some sizes.

    Each lowers most how much too much would be held where that is worst.
    """
    held = {form.size: [form.size.value(point) for point in points] for form in forms}
    least = [min(numbers) for numbers in zip(*held.values(), strict=True)]

    def excess(chosen: Sequence[Form]) -> list[float]:
        numbers = zip(*(held[form.size] for form in chosen), strict=True)
        return sorted(map(truediv, map(min, numbers), least), reverse=True)

    chosen = [forms[0]]
    while len(chosen) < FORMS and max(excess(chosen), default=1) >= GAIN_OF_A_FORM:
        # The first of equals, so that ties depend on nothing.
        chosen.append(min(forms, key=lambda form: excess([*chosen, form])))
    return chosen


def _compared(form: Form, others: Sequence[Form], given: Sizes) -> Alternative:
    """A form, to be taken where it holds less than others."""
    sizes = [o.size for o in others if _depends((o.size - form.size).at(given))]
    less, *than = _reduced([form.size, *sizes])
    return Alternative(form.tensors, form.size, form.hints, less, tuple(than))


def _symbols(plan: Plan, tensors: Mapping[int, Compress]) -> set[str]:
    nodes = topological([plan.formulas[k] for k in tensors])
    leaves = (n for n in nodes if not (children(n) or isinstance(n, Product)))
    return {s for node in leaves for dim in node.dims for s in dim.symbols}


def _arrays(plan: Plan, tensors: Sequence[Compressed | None]) -> list[Node]:
    parts = arrays_of(plan, tensors)
    return [*dict.fromkeys(node for part in parts for node in part)]


def _depends(size: Dim) -> bool:
    """Whether the sign of a size is not known."""
    return not (size.is_nonnegative() or (-size).is_nonnegative())


def _reduced(sizes: Sequence[Dim]) -> list[Dim]:
    """Polynomials that compare alike, without terms and factors that all share."""
    below = lcm(*(size.whole[1] for size in sizes))
    terms = [dict((size * below).terms) for size in sizes]
    for monomial in {m: None for own in terms for m in own}:
        least = min(own.get(monomial, 0) for own in terms)
        for own in terms:
            own[monomial] = own.get(monomial, 0) - least
    left = [Dim(own.items()) for own in terms]
    every = [term for size in left for term in size.terms]
    common = reduce(and_, (Counter(monomial) for monomial, _ in every))
    unit = Dim([(tuple(common.elements()), gcd(*(int(c) for _, c in every)))])
    divided = [size.divided(unit) for size in left]
    return [size for size in divided if size is not None]
