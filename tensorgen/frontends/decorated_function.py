"""A function over NumPy with its derivatives: `@tensorgen.function(w="n", wrt="w")`."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from tensorgen.calculus.kinds import PROBLEM, ROWS, STANDARD_ERRORS, Kind
from tensorgen.errors import Source, SpecError, suggest
from tensorgen.frontends.made_spec import MadeSpec
from tensorgen.frontends.numpy_functions import NumpyFunction, Wanted, read_function
from tensorgen.frontends.python_source import Meant, PythonFile
from tensorgen.frontends.spec_parts import SpecParts
from tensorgen.loading import LoadedModule
from tensorgen.spec.written_scalars import Flow

if TYPE_CHECKING:
    from tensorgen.verify import Finding, Verification

_CALLED: Mapping[str, Kind] = {
    row.called.removeprefix("{f}").lstrip("_"): row
    for row in ROWS
    if not row.is_higher and row not in (PROBLEM, STANDARD_ERRORS)
}
"""Kinds of derivatives by the ends of their functions' names: `grad`, `hess`; the value
has none."""


class DecoratedFunction(MadeSpec):
    """A function of Python's, which calls still run, and what is generated of it.

    `grad`, `hess`, `value_and_grad`, ... are the functions of the generated module that
    end so, and take the arguments of the Python function; `value` is the value as that
    module computes it. What `emit` does not ask for is generated when it is called.
    """

    __name__: str

    def __init__(self, function: FunctionType, wanted: Wanted) -> None:
        """Read the function; raises `SpecError` where that fails."""
        functools.update_wrapper(self, function)
        self.function: Callable[..., Any] = function
        self._wanted = wanted
        self._file = _file_of(function)
        line = function.__code__.co_firstlineno
        self._node = self._file.function(function.__name__, line)
        self._read = read_function(self._file, self._node, wanted)
        self._more: dict[str, LoadedModule] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the Python function returns."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tensorgen function {self.function.__name__}>"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What whoever reads the spec should know: what was assumed, or left out."""
        return self._read.remarks

    @property
    def parts(self) -> SpecParts:
        """The parts of the spec, for another spec that takes the function in."""
        return self._read.parts

    @cached_property
    def module(self) -> LoadedModule:
        """The module of `load`, built once."""
        return self.load()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        kind = _CALLED.get("" if name == "value" else name)
        if kind is None:
            hint = suggest(name, [*_CALLED, "value"]) or ""
            raise AttributeError(f"there is no '{name}' of a function. {hint}".strip())
        own = kind.public_name(self._read.name)
        module = self._with(kind, own)
        return self._calling(getattr(module, own))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), "value", *filter(None, _CALLED)]

    def _with(self, kind: Kind, own: str) -> ModuleType:
        """Return a module that has a function, which `emit` may not ask for."""
        if hasattr(self.module, own):
            return self.module
        if own not in self._more:
            emit: list[Flow] = [x.name for x in kind.plain_parts]
            wanted = Wanted(
                self._wanted.shapes,
                self._wanted.wrt,
                (*emit,),
                self._wanted.dims,
                self._wanted.module,
            )
            found = read_function(self._file, self._node, wanted)
            with self._told():
                self._more[own] = _loaded(found)
        return self._more[own]

    def _calling(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a generated function that takes the arguments of the Python one."""
        signature = inspect.signature(self.function)
        taken = inspect.signature(function).parameters
        inputs = self._read.inputs
        own = [x for x in taken if x not in inputs.values()]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            count = len(signature.parameters)
            more = dict(zip(own, args[count:], strict=False))
            more |= {x: kwargs.pop(x) for x in own if x in kwargs}
            bound = signature.bind(*args[:count], **kwargs)
            self._check_fixed(signature, bound.arguments)
            bound.apply_defaults()
            named = {inputs.get(x, x): value for x, value in bound.arguments.items()}
            return function(**{x: v for x, v in named.items() if x in taken}, **more)

        return call

    def _check_fixed(
        self, signature: inspect.Signature, given: Mapping[str, Any]
    ) -> None:
        """Refuse another value of what was read as it is by default."""
        for name, value in given.items():
            default = signature.parameters[name].default
            same = type(value) is type(default) and value == default
            if name not in self._read.inputs and not same:
                raise TypeError(f"'{name}' was read as {default!r}: it is no input")

    def _source(self) -> Source:
        return self._read.text.source

    def _about(self, error: SpecError) -> SpecError:
        return self._read.told(error)

    def _compared(self, verification: Verification) -> list[Finding]:
        """Return how far the Python function's own values are from the spec's."""
        from tensorgen.verify.python_functions import compared

        (function,) = verification.program.functions
        shapes = {x.name: x.shape for x in verification.spec.inputs}
        signature = inspect.signature(self.function)

        def call(values: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
            import numpy as np

            given: dict[str, Any] = {}
            for parameter, name in self._read.inputs.items():
                if name in values:
                    given[parameter] = values[name]
                elif signature.parameters[parameter].default is inspect.Parameter.empty:
                    # It has no say in the value, but must be there.
                    known = {
                        x: sizes.get(x, 1) for d in shapes[name] for x in d.symbols
                    }
                    shape = tuple(dim.value(known) for dim in shapes[name])
                    given[parameter] = np.ones(shape)
            bound = signature.bind_partial()
            bound.arguments.update(given)
            return self.function(*bound.args, **bound.kwargs)

        return compared(verification, function, self._file.source.name, call)


def decorated(
    shapes: Mapping[str, str],
    wrt: str | Sequence[str],
    emit: Sequence[Flow],
    dims: Mapping[str, int] | None,
    module: str | None,
) -> Callable[[Callable[..., Any]], DecoratedFunction]:
    """Return the decorator that reads a function."""
    by = (wrt,) if isinstance(wrt, str) else tuple(wrt)
    wanted = Wanted(dict(shapes), by, tuple(emit), dict(dims or {}), module)

    def read(function: Callable[..., Any]) -> DecoratedFunction:
        if not isinstance(function, FunctionType):
            raise TypeError(f"{function!r} is no function that is written in Python")
        return DecoratedFunction(function, wanted)

    return read


def _loaded(found: NumpyFunction) -> LoadedModule:
    from tensorgen.loading import loaded

    return loaded(found.text.source, "numpy", "cross-country")


def _file_of(function: FunctionType) -> PythonFile:
    """Return the file that a function stands in, with what else its names refer to."""
    name = inspect.getsourcefile(function) or function.__code__.co_filename
    try:
        lines, _ = inspect.findsource(function)
    except OSError as error:
        raise OSError(
            f"the source of '{function.__name__}' is not there to be read: write the "
            f"function into a file or a notebook ({error})"
        ) from None
    closure = _meant(inspect.getclosurevars(function).nonlocals)
    source = Source(_short(name), "".join(lines))
    return PythonFile.parse(source, _meant(function.__globals__), closure)


def _short(name: str) -> str:
    """Return a path from the current folder, where it is inside of it."""
    here = os.path.join(os.getcwd(), "")
    return name.removeprefix(here)


def _meant(variables: Mapping[str, Any]) -> dict[str, Meant]:
    """Return what names refer to: numbers, modules and their functions, or None."""
    return {name: _meaning(value) for name, value in variables.items()}


def _meaning(value: Any) -> Meant:
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    module = getattr(value, "__module__", None)
    own = getattr(value, "__name__", None)
    if callable(value) and isinstance(module, str) and isinstance(own, str):
        return f"{module}.{own}"
    return None
