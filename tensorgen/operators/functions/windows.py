"""Convolutions and interpolation: windows of affine positions, and places of knots."""

from __future__ import annotations

from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.ir.nodes import delta
from tensorgen.operators.functions.arithmetic import (
    elementwise,
    matmul,
    power,
    reciprocal,
    times,
    total,
)
from tensorgen.operators.functions.array import (
    OLD,
    Array,
    Build,
    Label,
    Misuse,
    by_axis,
    number,
    product,
    replaced,
    taken,
)
from tensorgen.operators.functions.linalg import diag, inv
from tensorgen.operators.functions.making import flip
from tensorgen.operators.functions.moving import diff
from tensorgen.operators.scans import places


def convolve(build: Build, x: Array, h: Array, mode: str = "full") -> Array:
    """Sums of x[i - j] * h[j] over all axes: full, same or valid, as in SciPy."""
    if x.order != h.order or not x.order:
        marks = [(at, tuple_text(y.shape)) for at, y in (("x", x), ("h", h))]
        raise Misuse("'convolve' needs arrays with as many axes", marks)
    shape, starts = [], []
    for n, k in zip(x.shape, h.shape, strict=True):
        length, start = _window(build, mode, n, k)
        shape.append(length)
        starts.append(start)
    axes = range(x.order)
    at = [
        delta({("x", a): 1, ("h", a): 1, a: -1}, -start)
        for a, start in zip(axes, starts, strict=True)
    ]
    factors: list[tuple[Array, list[Label]]] = [
        (y, [(name, a) for a in axes]) for name, y in (("x", x), ("h", h))
    ]
    return product(build, axes, factors, constraints=at, sizes=by_axis(tuple(shape)))


def _window(build: Build, mode: str, n: Dim, k: Dim) -> tuple[Dim, Dim]:
    """The length of a convolution along an axis, and its start in the full one."""
    if mode == "full":
        return n + k - 1, Dim()
    if mode == "valid":
        build.require(k, n, "'valid'", "h")
        return n - k + 1, k - 1
    if mode == "same":
        start = (k - 1).divided(Dim.of(2))
        if k.constant is not None:
            start = Dim.of((k.constant - 1) // 2)
        if start is None:
            hint = "state its length as a number, or as 2*k + 1"
            raise Misuse(f"where the middle of {k} is, is not known", [("h", "")], hint)
        return n, start
    hint = "it is 'full', 'same' or 'valid'"
    raise Misuse(f"there is no mode '{mode}'", [("mode", "")], hint)


def correlate(build: Build, x: Array, h: Array, mode: str = "valid") -> Array:
    """Sums of x[i + j] * h[j] over all axes: valid, same or full."""
    return convolve(build, x, flip(build, h), mode)


# Interpolation


def _knots(xp: Array, fp: Array, name: str) -> None:
    if xp.order != 1 or fp.order != 1 or xp.shape != fp.shape or xp.batch:
        marks = [(at, tuple_text(y.shape)) for at, y in (("xp", xp), ("fp", fp))]
        raise Misuse(f"'{name}' needs two vectors of one length", marks)


def _at(build: Build, v: Array, left: Array, shift: int = 0) -> Array:
    """The entries of a vector at places, or at those behind them."""
    return taken(build, v, (OLD,), left, shift)


def _places(build: Build, x: Array, xp: Array) -> Array:
    build.require(2, xp.shape[0], "interpolation", "xp")
    return Array(places.place(build.graph, "interval", x.node, xp.node), x.batch)


def _share(build: Build, x: Array, xp: Array, left: Array) -> Array:
    """How far each x is from the knot to the left of it to the one to the right."""
    low, high = (_at(build, xp, left, shift) for shift in (0, 1))
    width = total(build, [(1, high), (-1, low)])
    return times(build, [total(build, [(1, x), (-1, low)]), reciprocal(build, width)])


def interp(build: Build, x: Array, xp: Array, fp: Array) -> Array:
    """Straight lines between knots xp, which rise, with values fp; constant outside."""
    _knots(xp, fp, "interp")
    left = _places(build, x, xp)
    share = _share(build, x, xp, left)
    for name, end in (("maximum", 0), ("minimum", 1)):
        share = elementwise(build, name, [share, number(build, end)])
    low, high = (_at(build, fp, left, shift) for shift in (0, 1))
    rise = total(build, [(1, high), (-1, low)])
    return total(build, [(1, low), (1, times(build, [share, rise]))])


def spline(build: Build, x: Array, xp: Array, fp: Array) -> Array:
    """The natural cubic spline through knots xp, which rise, with values fp."""
    _knots(xp, fp, "spline")
    build.require(3, xp.shape[0], "a spline", "xp")
    left = _places(build, x, xp)
    bends = _bends(build, xp, fp)
    share = _share(build, x, xp, left)
    rest = total(build, [(1, number(build, 1)), (-1, share)])
    widths = _at(build, diff(build, xp), left)
    square = power(build, widths, number(build, 2))
    terms = []
    for part, shift in ((rest, 0), (share, 1)):
        terms.append((1, times(build, [part, _at(build, fp, left, shift)])))
        cube = power(build, part, number(build, 3))
        arch = total(build, [(1, cube), (-1, part)])
        bend = _at(build, bends, left, shift)
        terms.append((1, times(build, [arch, square, bend])))
    return total(build, terms)


def _bends(build: Build, xp: Array, fp: Array) -> Array:
    """A sixth of the second derivatives at the knots, which are 0 at both ends."""
    widths = diff(build, xp)
    slopes = times(build, [diff(build, fp), reciprocal(build, widths)])
    inner = xp.shape[0] - 2

    def cut(v: Array, low: int, count: Dim) -> Array:
        return replaced(build, v, 0, delta({OLD: 1, 0: -1}, -low), count)

    middle = total(build, [(2, cut(widths, k, inner)) for k in (0, 1)])
    beside = cut(widths, 1, inner - 1)
    matrix = total(
        build,
        [
            (1, diag(build, middle)),
            (1, diag(build, beside, 1)),
            (1, diag(build, beside, -1)),
        ],
    )
    found = matmul(build, inv(build, matrix), diff(build, slopes))
    return replaced(build, found, 0, delta({OLD: 1, 0: -1}, 1), xp.shape[0])
