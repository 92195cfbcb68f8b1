"""What is emitted is run before it is written: what raises there is a fault of ours.

Each function, and each method of each object and of each problem class, is called once
at two points whose sizes differ: other code may be chosen there, and loops turn. What
is returned is not looked at, for that is the business of the check.
"""

from __future__ import annotations

import inspect
import linecache
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from tensorgen.check.meaning import TooLarge
from tensorgen.check.opaque import outside
from tensorgen.check.sample_points import Point
from tensorgen.emit.interface import Parameter, arrays_among, every
from tensorgen.emit.module import Module
from tensorgen.errors import InternalError
from tensorgen.ir.dims import COMPUTED, ZERO, Dim
from tensorgen.ir.nodes import Input, Node

Value = Any
Call = Callable[[], Value]

PACKAGE = "tensorgen_run"
MOST_NUMBERS = 10**6
"""What takes more at a time is not called: derivatives of high order, of matrices."""
PROMISED = (
    "expected indices from",
    *("singular", "not positive definite", "did not converge"),
)
"""What refusals of numbers say, of indices and of matrices: any other is of shapes."""


@contextmanager
def loaded(texts: Mapping[str, str]) -> Iterator[dict[str, Value]]:
    """Make modules of texts, those first that others import; yield what the last has.

    Their lines are known to tracebacks, in which somebody looks for what is wrong.
    """
    stems = [file_name.removesuffix(".py") for file_name in texts]
    own = [PACKAGE, *(f"{PACKAGE}.{stem}" for stem in stems), *stems]
    before = {name: sys.modules.get(name) for name in own}
    names: dict[str, Value] = {}
    try:
        sys.modules[PACKAGE] = ModuleType(PACKAGE)
        for stem, text in zip(stems, texts.values(), strict=True):
            module, place = ModuleType(f"{PACKAGE}.{stem}"), f"<{stem}>"
            module.__package__ = PACKAGE
            # Beside it, or in its package: it is found by both names.
            sys.modules[module.__name__] = sys.modules[stem] = module
            linecache.cache[place] = (len(text), None, text.splitlines(True), place)
            exec(compile(text, place, "exec"), module.__dict__)
            names = module.__dict__
        yield names
    finally:
        for name, old in before.items():
            sys.modules.pop(name, None)
            if old is not None:
                sys.modules[name] = old


def run(
    texts: Mapping[str, str],
    module: Module,
    inputs: Mapping[str, Node],
    stated: Sequence[Node],
    points: Sequence[Point],
) -> None:
    """Call all that the last of some texts offers, at each point.

    `inputs` are those of the spec by name, `stated` are nodes of all functions. Raises
    `InternalError` with what was called where something is raised that nobody promises.
    """
    with loaded(texts) as names, np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = {f.name: f.parameters for f in module.functions}
        held = {f.name: f.body.holds for f in module.functions}
        # Parameters of unknowns are their own: inputs may bear the same names.
        own |= {s.name: s.given.parameters for s in module.solvers}
        for point in points:
            try:
                names |= outside(stated, point.field, point.meaning.lengths)
                user = _User(names, point, inputs)
                common = user.every(p for x in own.values() for p in x)
                common["blocks"] = [dict(common)]
                for name, parameters in own.items():
                    if not _is_too_large(held.get(name, ZERO), point.sizes):
                        user.call(name, names[name], user.values(parameters))
                for name in names["__all__"]:
                    if name not in own:
                        user.other(name, names[name], common)
            except TooLarge:
                return  # so are larger sizes


class _User:
    """Calls what a module offers with the numbers of a point."""

    def __init__(
        self, names: Mapping[str, Value], point: Point, inputs: Mapping[str, Node]
    ) -> None:
        self.names, self.point, self.inputs = names, point, inputs

    def values(self, parameters: Iterable[Parameter]) -> dict[str, Value]:
        """What callers pass for parameters, by name."""
        own = list(parameters)
        found: dict[str, Value] = dict(self.point.sizes)
        for p in arrays_among(every(own)):
            found[p.name] = self.matrix(p) if p.sparse else self.array(p)
        return found

    def every(self, parameters: Iterable[Parameter]) -> dict[str, Value]:
        """The same for all inputs: bounds may read what no function does."""
        nodes = {x: node for x, node in self.inputs.items() if isinstance(node, Input)}
        found = {x: _given(self.point.input(node)) for x, node in nodes.items()}
        return found | self.values(parameters)

    def array(self, p: Parameter) -> Value:
        """An array, or a number."""
        node = self.inputs.get(p.name) if p.role == "input" else None
        known = node.properties if isinstance(node, Input) else frozenset[str]()
        made = self.point.array(p.name, p.dims, known, p.index)
        return _given(made)

    def matrix(self, p: Parameter) -> Value:
        """A sparse matrix of its parts: modules that take some need SciPy anyway."""
        from scipy.sparse import csr_array

        nodes = [self.inputs[f"{p.name}_{x}"] for x in ("values", "rows", "columns")]
        values, *places = (self.point.meaning.of(node) for node in nodes)
        shape = self.point.meaning.lengths(p.dims)
        return csr_array((values, tuple(places)), shape=shape)

    def call(self, name: str, function: Value, values: Mapping[str, Value]) -> None:
        """Call a function, and what it returns."""
        known = {x: values[x] for x in _arguments(function) if x in values}
        self.use(name, self.tried(name, partial(function, **known)))

    def other(self, name: str, value: Value, values: Mapping[str, Value]) -> None:
        """Call what finds an unknown, or make and use a problem."""
        if not isinstance(value, type):
            self.call(name, value, values)
        elif not issubclass(value, tuple | Exception):
            known = {x: values[x] for x in _arguments(value) if x in values}
            problem = self.tried(name, partial(value, **known))
            if problem is not None:
                self.problem(name, problem, values)

    def problem(self, name: str, problem: Value, values: Mapping[str, Value]) -> None:
        """Use a function, or a whole problem, that is bound to data."""
        packed = {x: values[x] for x in _arguments(problem.pack)}
        v = self.tried(f"{name}.pack", partial(problem.pack, **packed))
        if v is None:
            return
        lagrange = np.ones(getattr(problem, "m", 0))
        known = {**values, "v": v, "d": v, "lagrange": lagrange}
        # Over blocks it is a class of the module; samples are like it.
        for part in sorted({*_public(type(problem))} - {"pack", "over", "sample"}):
            if getattr(getattr(type(problem), part), "__name__", part) != part:
                continue  # another name of a method
            told = f"{name}.{part}"
            method = self.tried(told, partial(getattr, problem, part))
            if callable(method):
                # Data may be called like what other methods take.
                self.call(told, method, values if part == "update" else known)

    def use(self, name: str, value: Value) -> None:
        """Call all methods of what a function has returned."""
        if isinstance(value, tuple):
            for part in value:
                self.use(name, part)
            return
        if not type(value).__module__.startswith(PACKAGE):
            return
        if math.prod(getattr(value, "shape", ())) > MOST_NUMBERS:
            return
        for part in _public(type(value)):
            method = METHODS.get(part, getattr)
            self.tried(f"{name}(...).{part}", partial(method, value, part))
        for names, block in getattr(value, "blocks", {}).items():
            self.use(f"{name}(...).blocks[{names}]", block)
        scales = hasattr(value, "__rmul__")
        for sign, multiple in MULTIPLES.items() if scales else ():
            self.tried(f"{sign}{name}(...)", partial(multiple, value))

    def tried(self, name: str, call: Call) -> Value:
        """What is returned; None where something is raised that is promised."""
        try:
            return call()
        except (TooLarge, MemoryError):
            return None
        except self.names.get("NotConverged", ()):
            return None
        except ImportError as error:
            if (error.name or "").partition(".")[0] == "scipy":
                return None
            why: Exception = error
        except (ValueError, np.linalg.LinAlgError) as error:
            if any(text in str(error).lower() for text in PROMISED):
                return None
            why = error
        except Exception as error:
            why = error
        sizes = ", ".join(f"{x} = {size}" for x, size in self.point.sizes.items())
        where = f" where {sizes}" if sizes else ""
        told = f"{type(why).__name__}: {why}"
        raise InternalError(f"{name} raises {told}{where}") from why


def _is_too_large(held: Dim, sizes: Mapping[str, int]) -> bool:
    """Whether to hold some numbers is too much; what is counted first is not known."""
    symbols = {s for s in held.symbols if s not in COMPUTED}
    return symbols <= sizes.keys() and held.value(sizes) > MOST_NUMBERS


def _given(array: Value) -> Value:
    """What callers pass for an array of their own, or for a number."""
    return array.copy() if array.shape else array[()].item()


def _arguments(function: Value) -> list[str]:
    return [*inspect.signature(function).parameters]


def _public(kind: type) -> list[str]:
    """What a class offers, but for what hands on to SciPy where that has to be read."""
    is_read = "scipy.sparse" in sys.modules
    names = [name for name in dir(kind) if not name.startswith("_")]
    if "contract" in names:
        names = [name for name in names if name not in OF_MATRICES]
    return [name for name in names if is_read or name not in OF_SCIPY]


def _columns(value: Value) -> Value:
    return np.ones((value.shape[1], 2))


def _rows(value: Value) -> Value:
    return np.ones((value.shape[0], 2))


def _solved(value: Value, name: str) -> None:
    factors = value.factorize(0.5)
    factors.solve(np.ones(value.shape[0]))
    factors.solve(_rows(value))
    assert factors.logdet is not None and factors.is_posdef in (True, False)


def _contracted(value: Value, name: str) -> None:
    shapes = _directions(value)
    for first in range(len(shapes)):
        value.contract(*map(np.ones, shapes[first:]))


def _directions(value: Value) -> Sequence[tuple[int, ...]]:
    """The shapes of the inputs of a derivative of higher order."""
    if hasattr(value, "columns"):
        return value.columns  # type: ignore[no-any-return]
    shape, found = value.tensor_shape, list[tuple[int, ...]]()
    for count in reversed(value.axes):
        shape, own = shape[: len(shape) - count], shape[len(shape) - count :]
        found.insert(0, own)
    return found


OF_SCIPY = (
    *("tocsr", "tocsc", "as_linear_operator"),
    *("bounds", "scipy_constraints", "minimize_args"),
)
"""What hands on to SciPy what was computed."""

OF_MATRICES = (
    *("T", "shape", "matrix", "coo", "matvec", "rmatvec", "dot"),
    *("tocsr", "tocsc", "as_linear_operator"),
)
"""What derivatives of higher order inherit, though they are no matrices."""

METHODS: Mapping[str, Callable[[Value, str], Value]] = {
    "dense": lambda value, name: value.dense(),
    "coo": lambda value, name: value.coo(),
    "tocsr": lambda value, name: value.tocsr(),
    "tocsc": lambda value, name: value.tocsc(),
    "as_linear_operator": lambda value, name: value.as_linear_operator(),
    "matvec": lambda value, name: value.matvec(_columns(value)),
    "rmatvec": lambda value, name: value.rmatvec(_rows(value)),
    "dot": lambda value, name: value @ _columns(value)[:, 0],
    "diagonal": lambda value, name: (value.diagonal(), value.coo(lower=True)),
    "solve": lambda value, name: value.solve(_rows(value)[:, 0]),
    "factorize": _solved,
    "contract": _contracted,
}
"""How methods of derivatives are called; what else there is are properties."""

MULTIPLES: Mapping[str, Callable[[Value], Value]] = {
    "2 * ": lambda value: (2 * value).factors,
    "-": lambda value: (-value).factors,
}
