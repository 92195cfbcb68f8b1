"""`einsum` and `tensordot`: products whose labels the user gives."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.dims import tuple_text
from tensorgen.operators.functions.array import (
    Array,
    Build,
    Label,
    Misuse,
    by_axis,
    common_shape,
    product,
    squeeze_axes,
)
from tensorgen.operators.functions.reductions import normal_axis

_HINT = 'write the labels of each operand and of the result: einsum("ij,jk->ik", A, B)'


def einsum(build: Build, subscripts: str, operands: Sequence[Array]) -> Array:
    """Product by labels, as np.einsum."""
    inputs, arrow, out = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(operands):
        message = (
            f"the subscripts name {len(terms)} operands, {len(operands)} are given"
        )
        raise Misuse(message, [("subscripts", "")], _HINT)
    # NumPy's ellipsis stands for the axes that the letters leave over.
    leads = [
        x.shape[: _spare(term, x, k)]
        for k, (term, x) in enumerate(zip(terms, operands, strict=True))
    ]
    lead = common_shape([s for s in leads if s])
    if lead is None:
        raise Misuse("the axes under '...' do not broadcast", [("subscripts", "")])
    used: list[tuple[Array, tuple[Label, ...]]] = []
    for k, (term, x) in enumerate(zip(terms, operands, strict=True)):
        used.append(_labelled(build, term, x, len(leads[k]), lead))
    _check_sizes(used)
    result = _result(terms, out) if arrow else _implicit(terms)
    known = {label for _, labels in used for label in labels}
    axes = [
        label
        for letter in result.replace("...", ".")
        for label in (range(len(lead)) if letter == "." else (letter,))
    ]
    for label in axes:
        if isinstance(label, str) and label not in known:
            message = f"'{label}' occurs in the result but in no operand"
            raise Misuse(message, [("subscripts", "")], _HINT)
    return product(build, axes, used, sizes=by_axis(lead))


def _letters(term: str) -> str:
    letters = term.replace("...", "", 1)
    if letters and not (letters.isascii() and letters.isalpha()):
        message = f"'{term}' is not a row of letters"
        raise Misuse(message, [("subscripts", "")], _HINT)
    return letters


def _spare(term: str, x: Array, k: int) -> int:
    """How many axes the ellipsis of a term stands for."""
    letters = _letters(term)
    spare = x.order - len(letters)
    if spare < 0 or (spare and "..." not in term):
        message = f"'{term}' does not fit an array with {x.order} axes"
        raise Misuse(message, [(("operands", k), tuple_text(x.shape))], _HINT)
    return spare


def _labelled(
    build: Build, term: str, x: Array, spare: int, lead: Sequence[object]
) -> tuple[Array, tuple[Label, ...]]:
    before = term.partition("...")[0] if "..." in term else ""
    start = len(before)
    offset = len(lead) - spare
    labels: list[Label] = list(_letters(term))
    labels[start:start] = range(offset, len(lead))
    thin = [
        a
        for a, label in enumerate(labels)
        if isinstance(label, int) and x.shape[a] != lead[label]
    ]
    kept = tuple(label for a, label in enumerate(labels) if a not in thin)
    return squeeze_axes(build, x, thin), kept


def _check_sizes(used: Sequence[tuple[Array, tuple[Label, ...]]]) -> None:
    seen: dict[Label, tuple[int, object]] = {}
    for k, (x, labels) in enumerate(used):
        for label, dim in zip(labels, x.shape, strict=True):
            other, first = seen.setdefault(label, (k, dim))
            if first != dim:
                message = f"'{label}' is an axis of length {first} and of length {dim}"
                places = dict.fromkeys([other, k])
                marks = [
                    (("operands", p), tuple_text(used[p][0].shape)) for p in places
                ]
                raise Misuse(message, marks)


def _result(terms: Sequence[str], out: str) -> str:
    letters = _letters(out)
    if len(set(letters)) < len(letters):
        raise Misuse("a label occurs twice in the result", [("subscripts", "")], _HINT)
    if any("..." in term for term in terms) and "..." not in out:
        message = "the result lacks the '...' of the operands"
        raise Misuse(message, [("subscripts", "")])
    return out


def _implicit(terms: Sequence[str]) -> str:
    """NumPy's rule without an arrow: labels that stand once, in alphabetical order."""
    every = "".join(_letters(term) for term in terms)
    once = "".join(sorted(c for c in set(every) if every.count(c) == 1))
    return ("..." if any("..." in term for term in terms) else "") + once


def tensordot(
    build: Build, a: Array, b: Array, axes: int | tuple[object, ...] = 2
) -> Array:
    """Product summed over pairs of axes."""
    left, right = _pairs(a, b, axes)
    names: dict[int, Label] = {}
    for k, (p, q) in enumerate(zip(left, right, strict=True)):
        if a.shape[p] != b.shape[q]:
            marks = [("a", tuple_text(a.shape)), ("b", tuple_text(b.shape))]
            raise Misuse("shapes do not match in 'tensordot'", marks)
        names[q] = ("inner", k)
    mine: list[Label] = [("a", k) for k in range(a.order)]
    for k, p in enumerate(left):
        mine[p] = ("inner", k)
    theirs = [names.get(k, ("b", k)) for k in range(b.order)]
    shared = set(names.values())
    out = [label for label in (*mine, *theirs) if label not in shared]
    return product(build, out, [(a, mine), (b, theirs)])


def _pairs(a: Array, b: Array, axes: object) -> tuple[list[int], list[int]]:
    if isinstance(axes, int) and 0 <= axes <= min(a.order, b.order):
        return list(range(a.order - axes, a.order)), list(range(axes))
    if isinstance(axes, tuple) and len(axes) == 2:
        sides = [s if isinstance(s, tuple) else (s,) for s in axes]
        if len(sides[0]) == len(sides[1]):
            left = [normal_axis(k, a.order, "axes") for k in sides[0]]
            right = [normal_axis(k, b.order, "axes") for k in sides[1]]
            if len(set(left)) == len(left) and len(set(right)) == len(right):
                return left, right
    hint = "a number of axes, or the two lists of axes that pair up: ([0, 1], [1, 0])"
    raise Misuse("these axes cannot be paired", [("axes", "")], hint)
