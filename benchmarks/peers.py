"""Contenders: generated modules, code by hand, and libraries given the same loss.

A loss is written once, as `loss(xp, variables..., data...)`; `xp` is a library that is
spelled like NumPy, with a few functions of ours where their spellings differ.
"""

import importlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy
from cases import Contender, Data, Task, leaves

import tensorgen

Kind = Literal["value and gradient", "gradient", "Hessian", "Jacobian"] | int
Loss = Callable[..., Any]
MODES: Any = ("cross-country", "reverse", "forward")


class Library:
    """A module spelled like NumPy, of which some functions have a name of their own."""

    def __init__(self, module: Any, **own: Any) -> None:
        self.__module, self.__own = module, own

    def __getattr__(self, name: str) -> Any:
        return self.__own[name] if name in self.__own else getattr(self.__module, name)


def ours(
    spec: str,
    call: str | Callable[[Any, Data], Task],
    *,
    name: str = "tensorgen",
    mode: Any = "cross-country",
    result: Callable[[Any], list[Any]] = leaves,
) -> Contender:
    """A generated function, called by name with the data it takes, or by `call`."""

    def make(data: Data) -> Task:
        module: Any = tensorgen.load(spec, mode=mode)
        if callable(call):
            return call(module, data)
        function = getattr(module, call)
        return partial(function, **given(function, data))

    return Contender(name, make, ("tensorgen.pipeline",), result)


def dense(function: str = "f_hess") -> Callable[[Any, Data], Task]:
    """The object of a derivative, and the array it stands for."""

    def call(module: Any, data: Data) -> Task:
        derivative = getattr(module, function)
        own = given(derivative, data)
        return lambda: derivative(**own).dense()

    return call


def hand(
    function: Callable[..., Any],
    name: str = "by hand",
    result: Callable[[Any], list[Any]] = leaves,
) -> Contender:
    """What an expert writes in NumPy."""
    return Contender(
        name, lambda data: partial(function, **given(function, data)), result=result
    )


def derived(
    loss: Loss, kind: Kind, wrt: int = 1, without: Sequence[str] = ()
) -> tuple[Contender, ...]:
    """The same from libraries that differentiate the loss by its first arguments."""
    found = [
        Contender("JAX", partial(_jax, loss, kind, wrt), ("jax",)),
        Contender(
            "torch",
            partial(_torch, loss, kind, wrt, False),
            ("torch", "torch._dynamo"),
        ),
        Contender(
            "torch.compile",
            partial(_torch, loss, kind, wrt, True),
            ("torch", "torch._inductor.compile_fx"),
        ),
        Contender(
            "autograd",
            partial(_autograd, loss, kind, wrt),
            ("autograd", "autograd.numpy", "autograd.scipy.special"),
        ),
    ]
    return tuple(c for c in found if c.name not in without)


@dataclass(frozen=True)
class Propagated:
    """What THOAD has found: a block for each tuple of its variables."""

    controller: Any
    variables: tuple[Any, ...]

    def at(self, places: Sequence[int]) -> Any:
        """Return the derivative by the variables at some places, with all entries."""
        by = [self.variables[k] for k in places]
        block, _ = self.controller.fetch_hgrad(by, keep_batch=False)
        return numpy.asarray(block.detach()[0])


def thoad(loss: Loss, order: int, wrt: int = 1) -> Contender:
    """All derivatives of an order by THOAD, for which Python has to be 3.12."""
    return Contender("THOAD", partial(_thoad, loss, order, wrt), ("torch", "thoad"))


def _thoad(loss: Loss, order: int, wrt: int, data: Data) -> Task:
    """As in its benchmarks: forwards, then backwards by blocks that are kept."""
    torch, package = (importlib.import_module(x) for x in ("torch", "thoad"))
    given = [torch.as_tensor(numpy.asarray(x)) for x in _arguments(loss, data)]
    for tensor in given[:wrt]:
        tensor.requires_grad_(True)

    def task() -> Propagated:
        value = loss(torch, *given)
        controller = package.backward(
            tensor=value, order=order, crossings=wrt > 1, keep_batch=True
        )
        return Propagated(controller, tuple(given[:wrt]))

    return task


def given(function: Callable[..., Any], data: Data) -> Data:
    """Return what a function takes of the data."""
    taken = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in taken.values()):
        return data
    return {name: value for name, value in data.items() if name in taken}


def _arguments(loss: Loss, data: Data) -> list[Any]:
    _, *names = inspect.signature(loss).parameters
    return [data[name] for name in names]


def _places(wrt: int) -> Any:
    return 0 if wrt == 1 else tuple(range(wrt))


def _jax(loss: Loss, kind: Kind, wrt: int, data: Data) -> Task:
    """By `jax.jit`; `jax.hessian` is `jacfwd(jacrev)`."""
    jax: Any = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    xp = Library(
        jax.numpy,
        relu=jax.nn.relu,
        softplus=jax.nn.softplus,
        softmax=jax.nn.softmax,
        logsumexp=jax.nn.logsumexp,
    )
    scalar, argnums = partial(loss, xp), _places(wrt)
    if kind == "value and gradient":
        function = jax.value_and_grad(scalar, argnums=argnums)
    elif kind == "Hessian":
        function = jax.hessian(scalar, argnums=argnums)
    elif kind == "Jacobian":
        function = jax.jacrev(scalar, argnums=argnums)
    else:
        function = jax.grad(scalar, argnums=argnums)
        for _ in range(0 if kind == "gradient" else kind - 1):
            function = jax.jacfwd(function, argnums=argnums)
    compiled = jax.jit(function)
    given = [jax.numpy.asarray(x) for x in _arguments(loss, data)]
    return lambda: jax.block_until_ready(compiled(*given))


def _torch(loss: Loss, kind: Kind, wrt: int, compiled: bool, data: Data) -> Task:
    """By `torch.func`, as it is or through `torch.compile`; on the CPU."""
    torch: Any = importlib.import_module("torch")
    xp = Library(
        torch,
        # Theirs is linear from 20 on.
        softplus=lambda t: torch.logaddexp(t, torch.zeros_like(t)),
    )
    scalar, argnums = partial(loss, xp), _places(wrt)
    if kind == "value and gradient":
        both = torch.func.grad_and_value(scalar, argnums=argnums)
        function: Any = lambda *given: both(*given)[::-1]  # noqa: E731
    elif kind == "Hessian":
        function = torch.func.hessian(scalar, argnums=argnums)
    elif kind == "Jacobian":
        function = torch.func.jacrev(scalar, argnums=argnums)
    else:
        function = torch.func.grad(scalar, argnums=argnums)
        for _ in range(0 if kind == "gradient" else kind - 1):
            function = torch.func.jacfwd(function, argnums=argnums)
    if compiled:
        function = torch.compile(function)
    # As arrays first: a Python number would become one of single precision.
    given = [torch.as_tensor(numpy.asarray(x)) for x in _arguments(loss, data)]
    return lambda: function(*given)


def _autograd(loss: Loss, kind: Kind, wrt: int, data: Data) -> Task:
    """By HIPS autograd, which traces each call anew."""
    autograd: Any = importlib.import_module("autograd")
    np: Any = importlib.import_module("autograd.numpy")
    special: Any = importlib.import_module("autograd.scipy.special")

    def softmax(z: Any, axis: int = -1) -> Any:
        return np.exp(z - special.logsumexp(z, axis=axis, keepdims=True))

    xp = Library(
        np,
        relu=lambda t: np.maximum(t, 0.0),
        softplus=lambda t: np.logaddexp(t, 0.0),
        softmax=softmax,
        logsumexp=special.logsumexp,
    )
    variables = _arguments(loss, data)[:wrt]
    others = _arguments(loss, data)[wrt:]

    if wrt == 1:
        scalar = lambda x: loss(xp, x, *others)  # noqa: E731
        (point,) = variables
    else:
        scalar = lambda x: loss(xp, *x, *others)  # noqa: E731
        point = tuple(variables)
    if kind == "value and gradient":
        function = autograd.value_and_grad(scalar)
    elif kind == "Hessian":
        if wrt > 1:
            raise NotImplementedError("Hessians of several variables")
        function = autograd.hessian(scalar)
    elif kind == "Jacobian":
        function = autograd.jacobian(scalar)
    else:
        function = autograd.grad(scalar)
        for _ in range(0 if kind == "gradient" else kind - 1):
            function = autograd.jacobian(function)
    return lambda: function(point)
