"""Holding derivative objects against dense derivatives, method by method."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from tests.programs.structured import StructuredProgram

Array = Any
STEP = 1e-5
SHIFTS = (0.0, 0.3, 20.0)
POINTS = 3  # at which a derivative is looked at for entries that are not zero
MORE_PLACES = 1.05  # than differ from zero somewhere may be stored
AT_ENDS = 2  # places besides: places by rule end with an axis, not an entry before
LOOSE = "places are stored"
CANCELLED = 1e-12  # what is left of sums that cancel, which may look regular or not


def check(program: StructuredProgram, module: ModuleType) -> Iterator[str]:
    """Yield what is wrong with the derivatives of a program."""
    arguments = program.arguments()
    kept = {name: array.copy() for name, array in arguments.items()}
    if "jacobian" in program.emit:
        yield from _jacobian(program, module, arguments)
    elif 3 in program.emit:
        yield from _higher(program, module, arguments)
    else:
        yield from _hessian(program, module, arguments)
    for name, array in kept.items():
        if not np.array_equal(array, arguments[name]):
            yield f"the argument {name} was written to"


def _hessian(
    program: StructuredProgram, module: Any, arguments: dict[str, Array]
) -> Iterator[str]:
    H = module.f_hess(**arguments)
    shapes = [arguments[name].shape for name in program.wrt]
    matrix = _whole(program, module.f_hess_dense(**arguments), arguments)
    columns = shapes[0] if len(shapes) == 1 else (len(matrix),)
    yield from check_object(H, matrix, columns, columns)
    yield from _same("diagonal()", H.diagonal(), np.diagonal(matrix).reshape(columns))
    yield from _same("the transpose", matrix.T, matrix, rtol=1e-11)
    yield from _differences(program, module, arguments, matrix)
    yield from _size(program, H, matrix)
    yield from _pattern(H, module.f_hess(**program.arguments(1)))
    yield from _places(program, H, module.f_hess_dense)
    # The matrix as the object has it: where sums cancel, a few digits are its own.
    held = np.asarray(H, float)
    for shift in SHIFTS:
        yield from check_solve(H, held, shift)
    single = {
        name: array.astype(np.float32) if array.dtype.kind == "f" else array
        for name, array in arguments.items()
    }
    rounded = module.f_hess(**single)
    if rounded.dtype != np.float32:
        yield f"the dtype of single precision is {rounded.dtype}"
    whole = np.asarray(rounded)
    yield from _same("single precision", whole, matrix, rtol=1e-3)
    yield from check_solve(rounded, whole, 20.0)


def _whole(program: StructuredProgram, dense: Any, arguments: Any) -> Array:
    """A dense Hessian as a matrix; over several inputs it is a dict of blocks."""
    sizes = [arguments[name].size for name in program.wrt]
    if len(sizes) == 1:
        return dense.reshape(sizes * 2)
    return np.block(
        [
            [dense[a, b].reshape(j, k) for b, k in zip(program.wrt, sizes, strict=True)]
            for a, j in zip(program.wrt, sizes, strict=True)
        ]
    )


def _jacobian(
    program: StructuredProgram, module: Any, arguments: dict[str, Array]
) -> Iterator[str]:
    J = module.f_jac(**arguments)
    dense = module.f_jac_dense(**arguments)
    columns = arguments["x"].shape
    rows = dense.shape[: dense.ndim - len(columns)]
    matrix = dense.reshape(math.prod(rows), math.prod(columns))
    yield from check_object(J, matrix, rows, columns)
    yield from _size(program, J, matrix)
    yield from _pattern(J, module.f_jac(**program.arguments(1)))
    yield from _places(program, J, module.f_jac_dense)
    d = np.random.default_rng(2).normal(size=columns)
    _, tangent = module.f_jvp(**arguments, dx=d)
    yield from _same("J @ d and jvp", J @ d.ravel(), tangent.ravel())


def _higher(
    program: StructuredProgram, module: Any, arguments: dict[str, Array]
) -> Iterator[str]:
    x = arguments["x"]
    lower: Callable[..., Array] = module.f_hess_dense
    rng = np.random.default_rng(3)
    for order in (k for k in program.emit if isinstance(k, int)):
        D = getattr(module, f"f_d{order}")(**arguments)
        dense = D.dense()
        if D.tensor_shape != order * x.shape or dense.shape != D.tensor_shape:
            yield f"order {order} has the shapes {D.tensor_shape}, {dense.shape}"
        yield from _symmetric(dense, x.ndim, order)
        directions = [rng.normal(size=x.shape) for _ in range(order)]
        for count in range(1, order + 1):
            wanted = dense
            for d in directions[:count]:
                wanted = np.tensordot(wanted, d, x.ndim)
            given = (
                [d.ravel() for d in directions[:count]]
                if count == 2
                else (directions[:count])
            )
            got = D.contract(*given[::-1])
            yield from _same(f"contract of {count}, order {order}", got, wanted)
        d = directions[0]
        ahead, behind = (lower(**arguments | {"x": x + s * d}) for s in (STEP, -STEP))
        slope = (ahead - behind) / (2 * STEP)
        wanted = np.tensordot(dense, d, x.ndim)
        yield from _same(f"order {order} and differences", slope, wanted, rtol=1e-5)
        yield from _buffers(D)
        if program.hints == "own" and D.nbytes > dense.nbytes + 64 and dense.size:
            yield f"order {order} holds {D.nbytes} bytes, dense {dense.nbytes}"

        lower = partial(_dense, getattr(module, f"f_d{order}"))


def _dense(make: Callable[..., Any], **arguments: Array) -> Array:
    return make(**arguments).dense()


def _symmetric(dense: Array, axes: int, order: int) -> Iterator[str]:
    """Compare a derivative with it under exchanges of its inputs."""
    for k in range(order - 1):
        swapped = np.arange(axes * order).reshape(order, axes)
        swapped[[k, k + 1]] = swapped[[k + 1, k]]
        turned = dense.transpose(swapped.ravel())
        yield from _same(f"exchange of {k} and {k + 1}", turned, dense, rtol=1e-11)


def check_object(
    H: Any, matrix: Array, rows: tuple[int, ...], columns: tuple[int, ...]
) -> Iterator[str]:
    """Hold what all derivative matrices offer against the dense matrix."""
    rng = np.random.default_rng(1)
    m, n = matrix.shape
    if (H.shape, H.tensor_shape) != ((m, n), rows + columns):
        yield f"the shapes are {H.shape} and {H.tensor_shape}"
    if H.dtype != matrix.dtype or not isinstance(H.structure, str):
        yield f"the dtype is {H.dtype}, the structure {H.structure!r}"
    dense = H.dense()
    yield from _same("dense()", dense, matrix.reshape(rows + columns))
    if not dense.flags.writeable:
        yield "dense() cannot be written to"
    yield from _same("__array__", np.asarray(H), matrix)
    linear = H.as_linear_operator()
    for shape in ((n,), (n, 1), (n, 3), columns):
        v = rng.normal(size=shape)
        flat = _is_columns(shape, n)
        kind = (m, *shape[1:]) if flat else rows
        width = math.prod(shape[1:]) if flat else 1
        wanted = (matrix @ v.reshape(n, width)).reshape(kind)
        for name, got in (
            ("matvec", H.matvec(v)),
            ("@", H @ v),
            ("dot", H.dot(v)),
            *([("LinearOperator", linear @ v)] if flat else []),
        ):
            yield from _same(f"{name} of {shape}", got, wanted)
    for shape in ((m,), (m, 2), rows):
        u = rng.normal(size=shape)
        flat = _is_columns(shape, m)
        kind = (n, *shape[1:]) if flat else columns
        width = math.prod(shape[1:]) if flat else 1
        wanted = (matrix.T @ u.reshape(m, width)).reshape(kind)
        yield from _same(f"rmatvec of {shape}", H.rmatvec(u), wanted)
    u = rng.normal(size=m)
    yield from _same("rmatvec of a LinearOperator", linear.rmatvec(u), matrix.T @ u)
    for lower in (False, True):
        i, j, values = H.coo(lower=lower)
        got = np.zeros_like(matrix)
        np.add.at(got, (i, j), values)
        wanted = np.tril(matrix) if lower else matrix
        yield from _same(f"coo(lower={lower})", got, wanted)
        if values.dtype != H.dtype or i.dtype.kind != "i" or j.dtype.kind != "i":
            yield f"coo has the dtypes {i.dtype}, {j.dtype}, {values.dtype}"
    yield from _buffers(H)
    try:
        H.structure = ""
    except AttributeError:
        pass
    else:
        yield "an attribute can be set"


def _is_columns(shape: tuple[int, ...], size: int) -> bool:
    """Whether an array counts as columns, though it may be shaped like x as well."""
    return len(shape) in (1, 2) and shape[0] == size


def _pattern(first: Any, second: Any) -> Iterator[str]:
    """Compare where two objects of the same shapes have entries."""
    for lower, axis in itertools.product((False, True), (0, 1)):
        one, other = first.coo(lower=lower)[axis], second.coo(lower=lower)[axis]
        if not np.array_equal(one, other):
            yield f"the pattern of coo(lower={lower}) depends on values"


def _places(
    program: StructuredProgram, H: Any, dense: Callable[..., Array]
) -> Iterator[str]:
    """Count the places that are stored, and those that are not zero somewhere."""
    if not program.few_places:
        return
    i, j, _ = H.coo()
    stored = len({*zip(i.tolist(), j.tolist(), strict=True)})
    filled = np.zeros(H.shape, bool)
    for variant in range(POINTS):
        matrix = dense(**program.arguments(variant)).reshape(H.shape)
        filled |= abs(matrix) > CANCELLED * abs(matrix).max(initial=0)
    filled = _with_whole_diagonals(filled)
    if stored > MORE_PLACES * filled.sum() + AT_ENDS:
        yield f"{stored} {LOOSE}, {filled.sum()} are filled: {H.structure}"


def _with_whole_diagonals(filled: Array) -> Array:
    """The same with diagonals filled of which a part is.

    A term on a diagonal is kept as the whole of it, with zeros beside its window or
    where no index array points: ties between axes have no ends, and what is added to a
    diagonal from several windows is one array. On the main diagonal that is a number a
    variable, as the gradient has; of others at least a third must be filled.
    """
    found = filled.copy()
    m, n = filled.shape
    for offset in range(1 - m, n):
        along = np.diagonal(filled, offset)
        if 3 * along.sum() >= len(along) or (offset == 0 and along.any()):
            rows = np.arange(len(along)) + max(-offset, 0)
            found[rows, rows + offset] = True
    return found


def _buffers(H: Any) -> Iterator[str]:
    """Recompute nbytes from the buffers of the factors."""
    held: dict[int, int] = {}
    for array in H.factors.values():
        address = array.__array_interface__["data"][0]
        held[address] = max(held.get(address, 0), array.nbytes)
        if array.flags.writeable:
            yield "a factor can be written to"
    if H.nbytes != sum(held.values()):
        yield f"nbytes is {H.nbytes} instead of {sum(held.values())}"


def _size(program: StructuredProgram, H: Any, matrix: Array) -> Iterator[str]:
    """Compare what an object holds with the dense matrix and what is expected."""
    sizes = program.sizes.values()
    if program.hints == "own" and min(sizes) > 0 and H.nbytes > matrix.nbytes + 64:
        yield f"holds {H.nbytes} bytes, the dense matrix {matrix.nbytes}"
    entries = program.entries()
    if entries is not None and H.nbytes > 8 * entries:
        yield f"holds {H.nbytes // 8} numbers, not {entries}: {H.structure}"


def _differences(
    program: StructuredProgram, module: Any, arguments: Any, matrix: Array
) -> Iterator[str]:
    """Hold a Hessian against differences of the gradient, and against hvp."""
    rng = np.random.default_rng(5)
    steps = {name: rng.normal(size=arguments[name].shape) for name in program.wrt}
    flat = np.concatenate([d.ravel() for d in steps.values()])

    def gradient(step: float) -> Array:
        moved = {name: arguments[name] + step * d for name, d in steps.items()}
        found = module.f_grad(**arguments | moved)
        parts = found if isinstance(found, tuple) else (found,)
        return np.concatenate([part.ravel() for part in parts])

    slope = (gradient(STEP) - gradient(-STEP)) / (2 * STEP)
    yield from _same("differences of the gradient", slope, matrix @ flat, rtol=1e-6)
    if "hvp" in program.emit:
        got = module.f_hvp(**arguments, dx=steps["x"]).ravel()
        yield from _same("hvp", got, matrix @ flat)


def check_solve(H: Any, matrix: Array, shift: float) -> Iterator[str]:
    """Hold solve and factorize against NumPy; a singular system is refused."""
    size, eps = len(matrix), float(np.finfo(matrix.dtype).eps)
    shifted = matrix.astype(float) + shift * np.eye(size)
    condition = np.linalg.cond(shifted, 1) if size else 1.0
    made = _attempt(lambda: H.factorize(shift))
    if size and abs(shifted).max() < CANCELLED:
        return
    rounding = max(size, 1) * eps * condition
    if made is None:
        if rounding < 1e-2:
            yield f"a system of condition {condition:.1e} is refused, shift {shift}"
        return
    if not rounding < 30:  # NaN as well
        yield f"a system of condition {condition:.1e} is not refused, shift {shift}"
        return
    rng = np.random.default_rng(4)
    norm = abs(shifted).sum(axis=0).max(initial=0)
    for shape in {(size,): 0, (size, 3): 0, H.columns: 0}:
        b = rng.normal(size=shape).astype(matrix.dtype)
        for name, s in (
            ("solve", H.solve(b, shift=shift)),
            ("factorize", made.solve(b)),
        ):
            if s.shape != b.shape or s.dtype != b.dtype:
                yield f"{name} of {b.shape} gives {s.shape} of {s.dtype}"
                continue
            flat = (size, b.size // max(size, 1))
            rest = abs(shifted @ s.reshape(flat) - b.reshape(flat)).max(initial=0)
            limit = 1000 * max(size, 1) * eps * (norm * abs(s).max(initial=0) + 1)
            if not rest <= limit:
                yield f"{name} with shift {shift} leaves a residual of {rest:.1e}"
    if size:
        _, logdet = np.linalg.slogdet(shifted)
        if not abs(made.logdet - logdet) <= 20 * rounding + 1e3 * size * eps:
            yield f"logdet with shift {shift} is {made.logdet} instead of {logdet}"
        values = np.linalg.eigvalsh(shifted)
        if abs(values).min() > 1e3 * size * eps * abs(values).max():
            posdef = bool((values > 0).all())
            if made.is_posdef is not posdef:
                yield f"is_posdef with shift {shift} is {made.is_posdef}"


def _attempt(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except np.linalg.LinAlgError:
        return None


def _same(what: str, got: Array, wanted: Array, rtol: float = 1e-10) -> Iterator[str]:
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape:
        yield f"{what} has the shape {got.shape} instead of {wanted.shape}"
        return
    scale = max(abs(wanted).max(initial=0.0), 1e-2)
    error = abs(got - wanted).max(initial=0.0)
    if not error <= rtol * scale:
        yield f"{what} is wrong by {error:.1e}, of {scale:.1e}"
