"""Checking one generated module against the oracle and against itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from tests.programs import oracle
from tests.programs.check_structured import SHIFTS, check_object, check_solve
from tests.programs.tree import RandomProgram

Array = Any
Direction = oracle.Direction
TOLERANCE = 1e-9


class Expected:
    """What the oracle says of a program, each thing computed at most once."""

    def __init__(self, program: RandomProgram) -> None:
        self.program = program
        random = np.random.default_rng(program.seed)
        self.value = oracle.value(program, program.arguments)
        self.jacobian = oracle.jacobian(program, program.arguments)
        entries = self.jacobian.shape[-1]
        signs = random.choice((-1.0, 1.0), entries)
        self.flat = signs * random.uniform(0.5, 1.5, entries)
        self.direction = oracle.split(program, self.flat)
        self.other = random.uniform(0.5, 1.5, entries)
        self.cotangent = random.uniform(-1, 1, np.shape(self.value))
        self.random = random

    @cached_property
    def second(self) -> Array:
        """The second derivative along both directions."""
        return oracle.along(self.program, self.directions, oracle.STEPS[2])

    @property
    def directions(self) -> tuple[Direction, Direction]:
        """The direction, and the other one."""
        return self.direction, oracle.split(self.program, self.other)


def check(expected: Expected, module: ModuleType) -> Iterator[str]:
    """Yield what is wrong with a module."""
    program = expected.program
    arguments = {name: program.arguments[name] for name in program.used}
    copies = {name: array.copy() for name, array in arguments.items()}
    yield from _compare("f", module.f(**arguments), expected.value)
    for kind in program.emit:
        if isinstance(kind, int | tuple):
            yield from _higher(expected, module, arguments, kind)
        elif kind in CHECKS:
            yield from CHECKS[kind](expected, module, arguments)
    for name, copy in copies.items():
        if not np.array_equal(copy, arguments[name]):
            yield f"the argument {name} was written to"


def _error(got: Array, want: Array) -> float:
    """The largest difference relative to the largest entry."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return np.inf
    # Below that the sums that cancel decide, not the derivative; with differences of
    # differences the oracle's as well.
    scale = max(np.max(np.abs(want), initial=0.0), 2e-2)
    error = float(np.max(np.abs(got - want), initial=0.0) / scale)
    return error if np.isfinite(error) else np.inf


def _compare(what: str, got: Array, want: Array) -> Iterator[str]:
    if _error(got, want) > TOLERANCE:
        yield f"{what} is\n{np.asarray(got)!r}\ninstead of\n{np.asarray(want)!r}"


def _parts(program: RandomProgram, result: Array) -> list[Array]:
    """The parts of a result by variable: a NamedTuple where there are several."""
    if len(program.wrt) == 1:
        return [result]
    return [getattr(result, name) for name in program.wrt]


def _jvp(
    expected: Expected, module: Any, arguments: Mapping[str, Array]
) -> Iterator[str]:
    steps = {f"d{name}": array for name, array in expected.direction.items()}
    value, got = module.f_jvp(**arguments, **steps)
    yield from _compare("the value of f_jvp", value, expected.value)
    tangent = expected.jacobian @ expected.flat
    yield from _compare("the tangent of f_jvp", got, tangent)


def _vjp(
    expected: Expected, module: Any, arguments: Mapping[str, Array]
) -> Iterator[str]:
    program, order = expected.program, expected.value.ndim
    value, got = module.f_vjp(**arguments, ct=expected.cotangent)
    pulled = oracle.joined(_parts(program, got))
    cotangent = np.tensordot(expected.cotangent, expected.jacobian, order)
    yield from _compare("the value of f_vjp", value, expected.value)
    yield from _compare("the cotangent of f_vjp", pulled, cotangent)
    # The inner-product identity, between two generated functions.
    steps = {f"d{name}": array for name, array in expected.direction.items()}
    _, tangent = module.f_jvp(**arguments, **steps)
    product = np.sum(expected.cotangent * tangent)
    yield from _compare("vjp . direction", pulled @ expected.flat, product)


def _gradient(
    expected: Expected, module: Any, arguments: Mapping[str, Array]
) -> Iterator[str]:
    program = expected.program
    gradient = oracle.joined(_parts(program, module.f_grad(**arguments)))
    yield from _compare("f_grad", gradient, expected.jacobian)
    value, both = module.f_value_and_grad(**arguments)
    gradient = oracle.joined(_parts(program, both))
    yield from _compare("the value of f_value_and_grad", value, expected.value)
    yield from _compare("f_value_and_grad", gradient, expected.jacobian)


def _dense_jacobian(
    expected: Expected, module: Any, arguments: Mapping[str, Array]
) -> Iterator[str]:
    dense = _parts(expected.program, module.f_jac_dense(**arguments))
    whole = oracle.joined(dense, expected.value.ndim)
    yield from _compare("f_jac_dense", whole, expected.jacobian)


def _jacobian_object(
    expected: Expected, module: Any, arguments: Mapping[str, Array]
) -> Iterator[str]:
    program = expected.program
    objects = _parts(program, module.f_jac(**arguments))
    wanted = oracle.split(program, expected.jacobian)
    for name, jac in zip(program.wrt, objects, strict=True):
        yield from _compare(f"f_jac.dense() by {name}", jac.dense(), wanted[name])
        whole = jac.dense().reshape(jac.shape)
        columns = np.shape(program.arguments[name])
        yield from check_object(jac, whole, expected.value.shape, columns)
        if jac.tensor_shape != wanted[name].shape:
            yield f"f_jac.tensor_shape by {name} is {jac.tensor_shape}"
        flat = wanted[name].reshape(expected.value.size, -1)
        step = expected.direction[name].ravel()
        pull = expected.cotangent.ravel()
        yield from _compare(f"f_jac.matvec by {name}", jac.matvec(step), flat @ step)
        yield from _compare(f"f_jac @ by {name}", jac @ step, flat @ step)
        yield from _compare(f"f_jac.rmatvec by {name}", jac.rmatvec(pull), pull @ flat)


def _second_order(expected: Expected, what: str, got: Array) -> Iterator[str]:
    """Hold a Hessian's product with the direction against the oracle."""
    terms = got * expected.other
    smallest = oracle.smallest_scale(expected.program, 2, expected.jacobian)
    scale = max(float(np.abs(terms).sum()), smallest)
    tolerance = oracle.tolerance(expected.program, 2)
    wrong = not abs(terms.sum() - expected.second) / scale <= tolerance
    if wrong and oracle.sure(expected.program, expected.directions, scale) is not None:
        yield f"{what} is along another {terms.sum()!r} instead of {expected.second!r}"


def _higher(
    expected: Expected,
    module: Any,
    arguments: Mapping[str, Array],
    kind: int | tuple[str, ...],
) -> Iterator[str]:
    """Hold a derivative of a higher order, or a mixed one, against the oracle."""
    program = expected.program
    names = kind if isinstance(kind, tuple) else program.wrt * kind
    label = "f_d_" + "_".join(names) if isinstance(kind, tuple) else f"f_d{kind}"
    derivative = getattr(module, label)(**arguments)
    shapes = [arguments[name].shape for name in names]
    shape = sum(shapes, expected.value.shape)
    dense = derivative.dense()
    if dense.shape != shape or derivative.tensor_shape != shape:
        yield f"{label} has the shapes {dense.shape}, {derivative.tensor_shape}"
        return
    steps = [expected.random.uniform(0.5, 1.5, shape) for shape in shapes]
    wanted = dense
    for count in range(1, len(names) + 1):
        wanted = np.tensordot(wanted, steps[-count], len(shapes[-count]))
        got = derivative.contract(*steps[-count:])
        yield from _compare(f"{label}.contract of {count}", got, wanted)
    directions = [{x: step} for x, step in zip(names, steps, strict=True)]
    tolerance = oracle.tolerance(program, len(names))
    smallest = oracle.smallest_scale(program, len(names), expected.jacobian)
    scale = max(np.max(np.abs(array), initial=smallest) for array in (dense, wanted))
    found = oracle.along(program, directions, oracle.STEPS[len(names)])
    wrong = not np.max(np.abs(found - wanted), initial=0) / scale <= tolerance
    if wrong and oracle.sure(program, directions, scale) is not None:
        yield f"{label} is along directions\n{wanted!r}\ninstead of\n{found!r}"


def _problem(
    expected: Expected, module: Any, arguments: Mapping[str, Array]
) -> Iterator[str]:
    program = expected.program
    data = {x: a for x, a in arguments.items() if x not in program.wrt}
    problem = module.FProblem(**data)
    flat = problem.pack(**{name: arguments[name] for name in program.wrt})
    yield from _compare("p.value", problem.value(flat), expected.value)
    if "gradient" in program.emit:
        value, gradient = problem.value_and_gradient(flat)
        yield from _compare("p.value_and_gradient", value, expected.value)
        yield from _compare("p.gradient", gradient, expected.jacobian)
        if "hvp" in program.emit:
            product = problem.hvp(flat, expected.flat)
            yield from _second_order(expected, "p.hvp", product)
        if "hessian" in program.emit:
            product = np.asarray(problem.hessian(flat)) @ expected.flat
            yield from _second_order(expected, "p.hessian @ direction", product)
    else:
        whole = np.asarray(problem.jacobian(flat))
        yield from _compare("p.jacobian", whole, _rows(expected))


def _rows(expected: Expected) -> Array:
    """The Jacobian as a matrix."""
    return expected.jacobian.reshape(-1, expected.jacobian.shape[-1])


def _hvp(
    expected: Expected, module: Any, arguments: Mapping[str, Array]
) -> Iterator[str]:
    steps = {f"d{name}": array for name, array in expected.direction.items()}
    parts = _parts(expected.program, module.f_hvp(**arguments, **steps))
    yield from _second_order(expected, "f_hvp", oracle.joined(parts))


def _hessian(
    expected: Expected, module: Any, arguments: Mapping[str, Array]
) -> Iterator[str]:
    program = expected.program
    hess = module.f_hess(**arguments)
    size = expected.flat.size
    dense = np.reshape(hess.dense(), (size, size))
    one = program.arguments[program.wrt[0]].shape
    columns = one if len(program.wrt) == 1 else (size,)
    yield from check_object(hess, dense, columns, columns)
    for shift in SHIFTS:
        yield from check_solve(hess, dense, shift)
    product = dense @ expected.flat
    yield from _second_order(expected, "f_hess.dense() @ direction", product)
    yield from _compare("the Hessian's transpose", dense.T, dense)
    yield from _compare("f_hess.matvec", hess.matvec(expected.flat), product)
    yield from _compare("f_hess @", hess @ expected.flat, product)
    yield from _compare("f_hess.rmatvec", hess.rmatvec(expected.flat), product)
    diagonal = np.ravel(hess.diagonal())
    yield from _compare("f_hess.diagonal()", diagonal, np.diagonal(dense))
    value, gradient, hessian = module.f_value_grad_hess(**arguments)
    got = oracle.joined(_parts(program, gradient))
    yield from _compare("the value of f_value_grad_hess", value, expected.value)
    yield from _compare("the gradient of f_value_grad_hess", got, expected.jacobian)
    together = np.reshape(hessian.dense(), (size, size))
    yield from _compare("the Hessian of f_value_grad_hess", together, dense)


def _dense_hessian(
    expected: Expected, module: Any, arguments: Mapping[str, Array]
) -> Iterator[str]:
    program = expected.program
    size = expected.flat.size
    dense = module.f_hess_dense(**arguments)
    if len(program.wrt) > 1:
        rows = [
            oracle.joined([dense[a, b] for b in program.wrt], program.arguments[a].ndim)
            for a in program.wrt
        ]
        dense = np.concatenate([row.reshape(-1, size) for row in rows])
    product = np.reshape(dense, (size, size)) @ expected.flat
    yield from _second_order(expected, "f_hess_dense @ direction", product)


CHECKS = {
    "gradient": _gradient,
    "jacobian": _jacobian_object,
    "dense_jacobian": _dense_jacobian,
    "hessian": _hessian,
    "dense_hessian": _dense_hessian,
    "hvp": _hvp,
    "jvp": _jvp,
    "vjp": _vjp,
    "problem": _problem,
}
