"""What `device.py` compares tensorgen with: JAX, compiled, and PyTorch, eager."""

import importlib
import importlib.util
import os
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

LAYERS = 10
SHIFT = 0.1  # of the Newton step, so that no block is singular
_PACKAGES = ("cupy-cuda12x", "cupy-cuda13x", "jax", "torch")

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


def to_host(result: Any) -> Any:
    """Copy an array of any of the libraries to the host."""
    if hasattr(result, "get"):
        return result.get()
    return np.asarray(result.cpu() if hasattr(result, "cpu") else result)


def functions(library: Any, softplus: Any) -> dict[str, Any]:
    """The functions of the specs, written for `jax.numpy` or `torch`."""

    def logistic(w: Any, X: Any, y: Any) -> Any:
        return softplus(-y * (X @ w)).sum() + 0.001 * (w @ w)

    def row(u: Any, V: Any, t: Any, o: Any) -> Any:
        return (o * (t - V @ u) ** 2).sum()

    def network(W: Any, *rest: Any) -> Any:
        *deep, x, y = rest
        h = library.tanh(W @ x)
        for D in deep:
            h = library.tanh(D @ h)
        return ((h - y) ** 2).sum()

    return {"logistic": logistic, "factorisation": row, "network": network}


def jax_task(spec: str, task: str, host: dict[str, Any]) -> Task | None:
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
    f = functions(jnp, jax.nn.softplus)[spec]
    arguments = [jnp.asarray(value) for value in host.values()]
    rows = (0, None, 0, 0)

    def step(*a: Any) -> Any:
        H = jax.vmap(jax.hessian(f), rows)(*a) + SHIFT * jnp.eye(a[0].shape[1])
        g = jax.vmap(jax.grad(f), rows)(*a)
        return jnp.linalg.solve(H, g[..., None])[..., 0]

    compiled = jax.jit(
        {
            "value and gradient": lambda *a: jax.value_and_grad(f)(*a)[1],
            "Hessian": jax.hessian(f),
            "blocks of the Hessian": jax.vmap(jax.hessian(f), rows),
            "blocks, Newton step": step,
        }[task]
    )
    return lambda: compiled(*arguments).block_until_ready()


def torch_task(spec: str, task: str, host: dict[str, Any]) -> Task | None:
    """Return a task for PyTorch, if PyTorch sees a device."""
    if importlib.util.find_spec("torch") is None:
        return None
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        return None
    f = functions(torch, torch.nn.functional.softplus)[spec]
    arguments = [torch.as_tensor(value, device="cuda") for value in host.values()]
    func, rows = torch.func, (0, None, 0, 0)

    def step(*a: Any) -> Any:
        H = func.vmap(func.hessian(f), rows)(*a)
        H = H + SHIFT * torch.eye(H.shape[-1], dtype=H.dtype, device="cuda")
        g = func.vmap(func.grad(f), rows)(*a)
        return torch.linalg.solve(H, g)

    run = {
        "value and gradient": lambda *a: func.grad_and_value(f)(*a)[0],
        "Hessian": func.hessian(f),
        "blocks of the Hessian": func.vmap(func.hessian(f), rows),
        "blocks, Newton step": step,
    }[task]

    def waited() -> Any:
        result = run(*arguments)
        torch.cuda.synchronize()
        return result

    return waited
