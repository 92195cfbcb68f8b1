"""Set G: how long generating takes, by the size of a function; what calls cost."""

import importlib
import inspect
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from cases import Case, Contender, Data, Set, Task
from numpy.random import Generator
from peers import hand, ours
from tables import Row

import tensorgen

Array = Any
ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ("gaussian_mixture", "attention_layer", "total_variation", "mesh_energy")
DEPTHS, STEPS = (10, 25, 50, 100, 200), (10, 25, 50, 100)
WIDTH = 16  # of arrays that results are compared at
CHECKS, ARGUMENT = 3.0, 1.0  # microseconds that a call and an argument may cost


def network(depth: int, wrt: str, emit: str) -> str:
    """Return the spec of a tanh network with `depth` square layers.

    The loss is the cross-entropy of the last layer's softmax against `y`.
    """
    weights = ", ".join(f"W{i}: [n, n]" for i in range(1, depth + 1))
    hidden = ["      h1 = tanh(W1 @ x)"] + [
        f"      h{i} = tanh(W{i} @ h{i - 1})" for i in range(2, depth)
    ]
    lines = [
        "tensorgen: 1",
        "dims: {n: 64}",
        f"inputs: {{{weights}, x: [n], y: [n]}}",
        "functions:",
        "  loss:",
        "    where: |",
        *hidden,
        f"      z = W{depth} @ h{depth - 1}",
        "    expr: logsumexp(z) - y @ z",
        f"    wrt: {wrt}",
        f"    emit: {emit}",
    ]
    return "\n".join([*lines, ""])


def deep(depth: int) -> str:
    """Return a network's spec with value and gradient with respect to all weights."""
    every = ", ".join(f"W{i}" for i in range(1, depth + 1))
    return network(depth, f"[{every}]", "[value, gradient]")


def recurrence(steps: int) -> str:
    """Return the spec of a state that is stepped forward, each step a line."""
    lines = [f"      x{k + 1} = tanh(A @ x{k} + b)" for k in range(steps)]
    return "\n".join(
        [
            "tensorgen: 1",
            "inputs: {A: [n, n], b: [n], x0: [n]}",
            "functions:",
            "  loss:",
            "    where: |",
            *lines,
            f"    expr: norm(x{steps})**2",
            "    wrt: [A, b, x0]",
            "    emit: [value, gradient]",
            "",
        ]
    )


def _network_data(depth: int, rng: Generator) -> Data:
    made: Data = {
        f"W{i}": rng.normal(size=(WIDTH, WIDTH)) / 4 for i in range(1, depth + 1)
    }
    return made | {"x": rng.normal(size=WIDTH), "y": np.eye(WIDTH)[0]}


def _state_data(rng: Generator) -> Data:
    A = rng.normal(size=(WIDTH, WIDTH)) / 4
    return {"A": A, "b": rng.normal(size=WIDTH), "x0": rng.normal(size=WIDTH)}


def _network_loss(jnp: Any, *given: Array) -> Any:
    *weights, last, x, y = given
    for W in weights:
        x = jnp.tanh(W @ x)
    z = last @ x
    return jnp.log(jnp.sum(jnp.exp(z))) - y @ z


def _state_loss(steps: int, jnp: Any, A: Array, b: Array, x0: Array) -> Any:
    for _ in range(steps):
        x0 = jnp.tanh(A @ x0 + b)
    return x0 @ x0


def _load(text: str) -> Contender:
    """Generating a module and importing it; what it computes is compared."""

    def make(data: Data) -> Task:
        def task() -> Any:
            module: Any = tensorgen.load(text)
            return lambda: module.loss_value_and_grad(**data)

        return task

    return Contender("tensorgen", make, result=_called)


def _compile(loss: Callable[..., Any], variables: int) -> Contender:
    """Tracing a gradient anew and compiling it."""

    def make(data: Data) -> Task:
        jax: Any = importlib.import_module("jax")
        jax.config.update("jax_enable_x64", True)
        given = [jax.numpy.asarray(x) for x in data.values()]
        places = tuple(range(variables))

        def task() -> Any:
            jax.clear_caches()
            function = jax.value_and_grad(partial(loss, jax.numpy), argnums=places)
            compiled = jax.jit(function).lower(*given).compile()
            return lambda: compiled(*given)

        return task

    return Contender("JAX", make, ("jax",), _called)


def _called(function: Any) -> list[Array]:
    value, gradients = function()
    return [np.asarray(value), *(np.asarray(g) for g in gradients)]


def _by_size() -> Iterator[Case]:
    for depth in DEPTHS:
        yield Case(
            "generate the gradient of a network",
            "layers",
            depth,
            partial(_network_data, depth),
            (_load(deep(depth)), _compile(_network_loss, depth)),
        )
    for steps in STEPS:
        yield Case(
            "generate the gradient of a path",
            "steps",
            steps,
            _state_data,
            (_load(recurrence(steps)), _compile(partial(_state_loss, steps), 3)),
        )


def _gen(text: str | None, *more: str) -> Contender:
    """The whole command, in a process of its own; `--help` without a spec."""

    def make(data: Data) -> Task:
        folder = tempfile.mkdtemp()
        command = [sys.executable, "-m", "tensorgen", "--help"]
        if text is not None:
            spec = Path(folder) / "spec.yaml"
            spec.write_text(text, encoding="utf-8")
            to = ("-o", folder, "-b", "numpy", "--force")
            command[3:] = ["gen", str(spec), *to, *more]
        # Modules are compiled once, as for anybody who runs the command twice.
        own = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": ""}
        silent = subprocess.DEVNULL
        return lambda: subprocess.run(
            command, check=True, cwd=ROOT, env=own, stdout=silent, stderr=silent
        )

    name = "tensorgen, no check" if more else "tensorgen"
    return Contender(name, make, result=lambda done: [np.asarray(done.returncode)])


def _targeted(limit: float, rows: dict[str, Row]) -> str:
    seconds = rows["tensorgen"].seconds or 0.0
    return f"target {limit} s: {'met' if seconds <= limit else 'missed'}"


def _commands() -> Iterator[Case]:
    """The commands, with the time that some of them may take."""
    seven = ", ".join(f"W{i}" for i in range(1, 8))
    softmax = "tensorgen: 1\ninputs: {x: [n]}\nfunctions:\n"
    softmax += "  f: {expr: softmax(x), wrt: x, emit: [6]}\n"
    second = "[value, gradient, hessian]"
    examples = ROOT / "examples"
    logistic = (examples / "logistic_regression.yaml").read_text("utf-8")
    texts: dict[str, tuple[str | None, float]] = {
        "--help": (None, 0.3),
        "gen, logistic regression": (logistic, 1.5),
        "gen, Hessian of 10 layers in W1": (network(10, "W1", second), 4.0),
        "gen, gradient of 100 layers": (deep(100), 15.0),
        "gen, joint Hessian of 7 layers": (network(7, f"[{seven}]", second), 0.0),
        "gen, softmax of order 6": (softmax, 0.0),
    }
    for name in EXAMPLES:
        text = (examples / f"{name}.yaml").read_text("utf-8")
        texts[f"gen, {name.replace('_', ' ')}"] = (text, 0.0)
    for name, (found, limit) in texts.items():
        checked = [_gen(found)]
        if found is not None:
            checked.append(_gen(found, "--fast"))
        judge = partial(_targeted, limit) if limit else None
        yield Case(f"tensorgen {name}", "", 1, _nothing, tuple(checked), judge=judge)


def _nothing(rng: Generator) -> Data:
    return {}


def _plain(count: int) -> tuple[str, Callable[..., Any]]:
    """A sum of so many vectors, as a spec and by hand."""
    names = [f"x{k}" for k in range(count)]
    inputs = ", ".join(f"{x}: [n]" for x in names)
    expr = " + ".join(names) if count > 1 else "2*x0"
    text = f"tensorgen: 1\ninputs: {{{inputs}}}\nfunctions: {{f: {expr}}}\n"
    body: dict[str, Any] = {}
    exec(f"def f({', '.join(names)}):\n    return {expr}\n", body)
    return text, body["f"]


def _overhead(count: int, rows: dict[str, Row]) -> str:
    own, other = rows["tensorgen"].least, rows["by hand"].least
    assert own is not None and other is not None
    most, found = CHECKS + count * ARGUMENT, 1e6 * (own - other)
    word = "met" if found <= most else "missed"
    return f"checks {found:.1f} us; target {most:.0f} us: {word}"


def _calls() -> Iterator[Case]:
    """Calls in which checks are nearly all there is."""
    for count in (1, 2, 4, 8, 16):
        text, function = _plain(count)
        names = tuple(inspect.signature(function).parameters)

        def data(rng: Generator, names: tuple[str, ...] = names) -> Data:
            return {name: rng.normal(size=3) for name in names}

        yield Case(
            "call overhead, sums of 3 entries",
            "args",
            count,
            data,
            (ours(text, "f"), hand(function)),
            judge=partial(_overhead, count),
        )


def cases() -> Iterator[Case]:
    """Generation by size, whole commands, and calls."""
    yield from _by_size()
    yield from _commands()
    yield from _calls()


SET = Set(
    "G",
    "generation",
    "Time to generate (beside JAX: to trace and compile), of commands, and of calls.",
    cases,
)
