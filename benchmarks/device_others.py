"""What `device.py` compares with: JAX compiled, PyTorch eager, PyTorch compiled."""

import importlib
import importlib.util
import os
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from device_problems import PROBLEMS

SHIFT = 0.1  # of the Newton step, so that no block is singular
_PACKAGES = ("cupy-cuda12x", "cupy-cuda13x", "jax", "torch", "triton")
_ROWS = (0, None, 0, 0)  # the function of one row of a factorisation, by rows

Task = Callable[[], Any]


def packages() -> list[str]:
    """The packages of the contenders that are installed."""
    found = []
    for name in _PACKAGES:
        try:
            version(name)
        except PackageNotFoundError:
            continue
        found.append(name)
    return found


def device_name() -> str:
    """The name of the device; an error of CuPy's where there is none."""
    cuda = importlib.import_module("cupy").cuda
    name: bytes = cuda.runtime.getDeviceProperties(0)["name"]
    return name.decode()


def to_host(result: Any) -> list[Any]:
    """Copy an array of any of the libraries, or several, to the host."""
    if isinstance(result, tuple | list):
        return [array for part in result for array in to_host(part)]
    if hasattr(result, "get"):
        return [result.get()]
    return [np.asarray(result.cpu() if hasattr(result, "cpu") else result)]


class _Jax:
    """`jax.numpy`, with what PyTorch has in its first namespace."""

    def __init__(self) -> None:
        import jax

        self.jax = jax
        self.__name__ = "jax"

    def __getattr__(self, name: str) -> Any:
        if name == "logsumexp":
            return self.jax.nn.logsumexp
        return getattr(self.jax.numpy, name)


def jax_task(problem: str, task: str, host: dict[str, Any]) -> Task | None:
    """Return a task compiled by JAX, if JAX sees a device."""
    if importlib.util.find_spec("jax") is None:
        return None
    # Else JAX takes three quarters of the memory, whatever it needs.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp

    if jax.default_backend() != "gpu":
        return None
    jax.config.update("jax_enable_x64", True)
    this, library = PROBLEMS[problem], _Jax()
    count = len(this.wrt)
    by = tuple(range(count))

    def f(*a: Any) -> Any:
        return this.other(library, *a)

    def step(*a: Any) -> Any:
        H = jax.vmap(jax.hessian(f), _ROWS)(*a) + SHIFT * jnp.eye(a[0].shape[1])
        g = jax.vmap(jax.grad(f), _ROWS)(*a)
        return jnp.linalg.solve(H, g[..., None])[..., 0]

    tasks = {
        "value and gradient": lambda *a: jax.value_and_grad(f, by)(*a),
        "Hessian": jax.hessian(f),
        "blocks of the Hessian": lambda *a: jax.vmap(jax.hessian(f), _ROWS)(*a),
        "blocks, Newton step": step,
    }
    if task not in tasks:
        return None
    compiled = jax.jit(tasks[task])
    arguments = [jnp.asarray(value) for value in host.values()]
    return lambda: jax.block_until_ready(compiled(*arguments))


def torch_task(
    problem: str, task: str, host: dict[str, Any], *, compiled: bool
) -> Task | None:
    """Return a task for PyTorch, if PyTorch sees a device.

    Compiled, it is values with gradients alone, by the reverse mode of PyTorch itself;
    and no loops, which its compiler unrolls.
    """
    if importlib.util.find_spec("torch") is None:
        return None
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        return None
    if compiled and (task != "value and gradient" or problem == "rollout"):
        return None
    this = PROBLEMS[problem]
    arguments = [torch.as_tensor(value, device="cuda") for value in host.values()]
    func, count = torch.func, len(this.wrt)

    def f(*a: Any) -> Any:
        return this.other(torch, *a)

    def step(*a: Any) -> Any:
        H = func.vmap(func.hessian(f), _ROWS)(*a)
        H = H + SHIFT * torch.eye(H.shape[-1], dtype=H.dtype, device="cuda")
        g = func.vmap(func.grad(f), _ROWS)(*a)
        return torch.linalg.solve(H, g)

    def reverse(*a: Any) -> Any:
        gradients, value = func.grad_and_value(f, tuple(range(count)))(*a)
        return value, gradients

    tasks = {
        "value and gradient": reverse,
        "Hessian": func.hessian(f),
        "blocks of the Hessian": func.vmap(func.hessian(f), _ROWS),
        "blocks, Newton step": step,
    }
    if task not in tasks:
        return None
    run = tasks[task]
    if compiled:
        torch.compiler.reset()  # else it runs eagerly after eight of these
        fast = torch.compile(f)
        leaves = [a.requires_grad_() for a in arguments[:count]]

        def run(*a: Any) -> Any:
            value = fast(*a)
            return value.detach(), torch.autograd.grad(value, leaves)

    def waited() -> Any:
        result = run(*arguments)
        torch.cuda.synchronize()
        return result

    return waited
