"""What holds of objects of derivatives: what is assembled, products, solutions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tensorgen.operators.references import Array
from tensorgen.verify.findings import Measure
from tensorgen.verify.reference import Known
from tensorgen.verify.verified_modules import Subject

ITSELF, FIRST, SECOND, HIGHER = 1e-9, 1e-9, 1e-7, 1e-5
"""Relative tolerances: of an object against itself, and by order."""

SHIFTS = (0.0, 3.0, -0.5)
WORST = 1e9
"""The condition up to which systems have to be solved."""

MOST = 25_000
"""Entries of matrices that are looked at."""

MOST_OF_BLOCKS = 900
"""Entries of a joint Hessian whose blocks are looked at one by one."""
DENSE = "its dense matrix"
DIFFERENCES = "differences of complex steps"


def hessian(
    h: Any,
    code: str,
    known: Sequence[Known],
    directions: Sequence[Array],
    shapes: Mapping[str, tuple[int, ...]],
    on: Subject,
) -> Iterator[Measure]:
    """Measure a Hessian; `known` is its product with each direction, a row each."""
    n = len(directions[0])
    only = [*shapes.values()]
    shape = only[0] * 2 if len(only) == 1 else (n, n)
    dense = on.numbers(h.dense())
    if dense.shape != shape:
        yield of_shape(dense, shape, f"{code}.dense().shape")
        return
    matrix = dense.reshape(n, n)
    text = f"{code}.dense().reshape({n}, {n})"
    for d, wanted in zip(directions, known, strict=True):
        row, given = Known(wanted.value[0], wanted.error), {"d": d}
        product = on.numbers(h.matvec(on.array(d)))
        both = [
            (matrix @ d, f"{text} @ d", "dense"),
            (product, f"{code}.matvec(d)", "matvec"),
        ]
        for got, how, what in both:
            yield Measure(what, DIFFERENCES, got, row, SECOND, how, given)
    yield Measure("symmetry", "itself", matrix, Known(matrix.T), ITSELF, text)
    yield from _same(h, code, matrix, directions[0], directions[-1], on)
    wanted = Known(np.diagonal(matrix))
    got = on.numbers(h.diagonal()).ravel()
    yield Measure("diagonal", DENSE, got, wanted, ITSELF, f"{code}.diagonal().ravel()")
    if len(only) > 1:
        yield from _blocks(h, code, matrix, shapes, on)
    yield from _solutions(h, code, matrix, directions[0], on)


def of_shape(found: Array, shape: tuple[int, ...], code: str) -> Measure:
    """Measure a shape that is not what it ought to be."""
    got, wanted = np.array(found.shape), Known(np.array(shape))
    return Measure("shape", "what is declared", got, wanted, 0.0, code)


def of_itself(h: Any, code: str, d: Array, u: Array, on: Subject) -> Iterator[Measure]:
    """Measure an object against its own dense matrix, where that is not too large."""
    rows, columns = h.shape
    if rows * columns > MOST:
        return
    matrix = on.numbers(h.dense()).reshape(rows, columns)
    yield from _same(h, code, matrix, d, u, on)
    if hasattr(h, "diagonal"):
        got, wanted = on.numbers(h.diagonal()).ravel(), Known(np.diagonal(matrix))
        yield Measure("diagonal", DENSE, got, wanted, ITSELF, f"{code}.diagonal()")
        yield from _solutions(h, code, matrix, d, on)
    blocks = getattr(h, "blocks", {}) if rows * columns <= MOST_OF_BLOCKS else {}
    for names, block in blocks.items():
        sides = (
            np.resize(x, size) for x, size in zip((u, d), block.shape, strict=True)
        )
        b, a = sides
        yield from of_itself(block, f"{code}.blocks[{names!r}]", a, b, on)


def _same(
    h: Any, code: str, matrix: Array, d: Array, u: Array, on: Subject
) -> Iterator[Measure]:
    """Products with several columns, with the transpose, entries one by one."""
    columns, given = np.stack([d, 2 * d + 1], axis=1), {"d": d, "u": u}
    got, wanted = on.numbers(h @ on.array(columns)), Known(matrix @ columns)
    how = f"{code} @ np.stack([d, 2 * d + 1], axis=1)"
    yield Measure("matvec", DENSE, got, wanted, ITSELF, how, given)
    got, wanted = on.numbers(h.rmatvec(on.array(u))), Known(matrix.T @ u)
    yield Measure("rmatvec", DENSE, got, wanted, ITSELF, f"{code}.rmatvec(u)", given)
    whole, how = on.numbers((2 * h).dense()).reshape(matrix.shape), f"(2 * {code})"
    text = f"{how}.dense().reshape{matrix.shape}"
    yield Measure("multiple", DENSE, whole, Known(2 * matrix), ITSELF, text)
    got, wanted = on.numbers((2 * h).matvec(on.array(d))), Known(2 * matrix @ d)
    yield Measure("multiple", DENSE, got, wanted, ITSELF, f"{how}.matvec(d)", given)
    found = assembled(matrix.shape, *map(on.numbers, (2 * h).coo()))
    wanted = Known(2 * matrix)
    yield Measure("coo of multiple", DENSE, found, wanted, ITSELF, f"{how}.coo()")
    for lower in (False, True):
        rows, places, values = map(on.numbers, h.coo(lower=lower))
        found = assembled(matrix.shape, rows, places, values)
        whole = Known(np.tril(matrix) if lower else matrix)
        how = f"{code}.coo(lower={lower})"
        yield Measure("coo", DENSE, found, whole, ITSELF, how)


def assembled(
    shape: tuple[int, ...], rows: Array, columns: Array, values: Array
) -> Array:
    """Return the matrix of these entries; no numbers where some are outside."""
    found = np.zeros(shape)
    try:
        np.add.at(found, (rows, columns), values)
    except (IndexError, ValueError):
        return np.full(shape, np.nan)
    return found


def _blocks(
    h: Any, code: str, matrix: Array, shapes: Mapping[str, tuple[int, ...]], on: Subject
) -> Iterator[Measure]:
    ends = np.cumsum([0, *(int(np.prod(s, dtype=int)) for s in shapes.values())])
    places = {x: slice(ends[k], ends[k + 1]) for k, x in enumerate(shapes)}
    for a in shapes:
        for b in shapes:
            wanted = matrix[places[a], places[b]].reshape((*shapes[a], *shapes[b]))
            how = f"{code}.blocks[{a!r}, {b!r}].dense()"
            got = on.numbers(h.blocks[a, b].dense())
            yield Measure("blocks", DENSE, got, Known(wanted), ITSELF, how)


def _solutions(
    h: Any, code: str, matrix: Array, b: Array, on: Subject
) -> Iterator[Measure]:
    """Residuals of systems that are solved, and what factors say of the matrix."""
    largest = float(np.max(np.abs(matrix), initial=0.0))
    for shift in SHIFTS:
        shifted = matrix + shift * max(largest, 1e-3) * np.eye(len(matrix))
        condition = np.linalg.cond(shifted) if matrix.size else 1.0
        if not condition < WORST:
            continue
        number, given = float(shift * max(largest, 1e-3)), {"b": b}
        known = Known(np.linalg.solve(shifted, b), 0.0)
        allowed = max(ITSELF, 1e-14 * condition)
        how = f"{code}.solve(b, {number!r})"
        found = on.numbers(h.solve(on.array(b), number))
        yield Measure("solve", DENSE, found, known, allowed, how, given)
        if not shift:
            how, half = f"(2 * {code}).solve(b)", Known(known.value / 2)
            found = on.numbers((2 * h).solve(on.array(b)))
            yield Measure("multiple", DENSE, found, half, allowed, how, given)
        factors, how = h.factorize(number), f"{code}.factorize({number!r})"
        found = on.numbers(factors.solve(on.array(b)))
        yield Measure(
            "factorize", DENSE, found, known, allowed, f"{how}.solve(b)", given
        )
        log = Known(np.asarray(np.linalg.slogdet(shifted)[1]))
        found = np.asarray(on.numbers(factors.logdet))
        text = f"{how}.logdet"
        yield Measure("logdet", DENSE, found, log, allowed, text, scale=1.0)
        if hasattr(factors, "inverse_diagonal"):
            inverse = Known(np.diagonal(np.linalg.inv(shifted)))
            found = on.numbers(factors.inverse_diagonal()).ravel()
            text = f"{how}.inverse_diagonal().ravel()"
            yield Measure("inverse diagonal", DENSE, found, inverse, allowed, text)
        least = np.min(np.linalg.eigvalsh((shifted + shifted.T) / 2), initial=np.inf)
        if abs(least) > WORST**-1 * largest:
            definite, said = least > 0, bool(factors.is_posdef)
            known, found = Known(np.asarray(1.0 * definite)), np.asarray(1.0 * said)
            yield Measure(
                "is_posdef", DENSE, found, known, 0.5, f"{how}.is_posdef", scale=1.0
            )


def jacobian(
    j: Any,
    code: str,
    known: Known,
    d: Array,
    u: Array,
    shape: tuple[int, ...],
    on: Subject,
) -> Iterator[Measure]:
    """Measure a Jacobian by one input, a matrix that is known."""
    dense, matrix = on.numbers(j.dense()), known.value
    if dense.shape != shape:
        yield of_shape(dense, shape, f"{code}.dense().shape")
        return
    against, given = "complex steps", {"d": d, "u": u}
    rows, columns = matrix.shape
    text = f"{code}.dense().reshape({rows}, {columns})"
    own = dense.reshape(rows, columns)
    yield Measure("dense", against, own, known, FIRST, text)
    wanted = Known(matrix @ d, known.error)
    got = on.numbers(j.matvec(on.array(d)))
    yield Measure("matvec", against, got, wanted, FIRST, f"{code}.matvec(d)", given)
    wanted = Known(matrix.T @ u, known.error * max(1, rows))
    got = on.numbers(j.rmatvec(on.array(u)))
    yield Measure("rmatvec", against, got, wanted, FIRST, f"{code}.rmatvec(u)", given)
    yield from _same(j, code, own, d, u, on)


def array(
    dense: Array,
    code: str,
    known: Known | None,
    directions: Sequence[Array],
    lead: tuple[int, ...],
) -> Iterator[Measure]:
    """Measure all entries of a derivative of higher order, along a direction a place.

    Of one whose value is not known there its shape alone.
    """
    shape = (*lead, *(side for d in directions for side in d.shape))
    if dense.shape != shape:
        yield of_shape(dense, shape, f"{code}.shape")
        return
    found, text = dense, code
    given = {f"d{k + 1}": d for k, d in enumerate(directions)}
    for name, d in reversed(given.items()):
        found = np.tensordot(found, d, d.ndim)
        text = f"np.tensordot({text}, {name}, {d.ndim})"
    if known is not None:
        wanted = Known(known.value.reshape(lead), known.error)
        yield Measure("dense", DIFFERENCES, found, wanted, HIGHER, text, given)


def tensor(
    t: Any,
    code: str,
    known: Known | None,
    directions: Sequence[Array],
    lead: tuple[int, ...],
    on: Subject,
) -> Iterator[Measure]:
    """Measure a derivative of higher order, along a direction for each place.

    Where it is not known what that is, it is compared with itself alone.
    """
    dense = on.numbers(t.dense())
    yield from array(dense, f"{code}.dense()", known, directions, lead)
    if dense.shape != (*lead, *(side for d in directions for side in d.shape)):
        return
    given = {f"d{k + 1}": d for k, d in enumerate(directions)}
    found = dense
    for d in reversed(directions):
        found = np.tensordot(found, d, d.ndim)
    got = on.numbers(t.contract(*map(on.array, directions)))
    how = f"{code}.contract({', '.join(given)})"
    yield Measure(
        "contract", "dense()", np.asarray(got), Known(found), ITSELF, how, given
    )
    got, how = on.numbers((2 * t).dense()), f"(2 * {code}).dense()"
    yield Measure("multiple", "dense()", got, Known(2 * dense), ITSELF, how)
    last, d = [*given.items()][-1]
    got, wanted = on.numbers(t.contract(on.array(d))), Known(
        np.tensordot(dense, d, d.ndim)
    )
    how = f"{code}.contract({last})"
    yield Measure("contract", "dense()", got, wanted, ITSELF, how, given)
