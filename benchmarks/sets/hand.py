"""Set H: functions of all kinds, at one size each, beside code by hand."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import partial
from typing import Any

import by_hand
from by_hand.problem import Problem
from cases import Case, Contender, Data, Set, Task
from peers import hand, ours


def problems() -> Iterator[Problem]:
    """All problems, by file."""
    for found in pkgutil.iter_modules(by_hand.__path__):
        if found.name != "in_jax":
            module = importlib.import_module(f"by_hand.{found.name}")
            yield from getattr(module, "PROBLEMS", [])


def _jax(problem: Problem, data: Data) -> Task:
    """The loss in JAX's own spelling, differentiated by its first arguments."""
    jax: Any = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    loss = getattr(importlib.import_module("by_hand.in_jax"), problem.jax)
    argnums = 0 if problem.variables == 1 else tuple(range(problem.variables))
    derived = jax.hessian if problem.twice else jax.value_and_grad
    compiled = jax.jit(derived(loss, argnums=argnums))
    given = [jax.numpy.asarray(data[x]) for x in inspect.signature(loss).parameters]
    return lambda: jax.block_until_ready(compiled(*given))


def cases() -> Iterator[Case]:
    """Every problem of `by_hand`."""
    for problem in problems():
        call = problem.call or problem.function
        contenders = [ours(problem.spec, call, mode=problem.mode), hand(problem.hand)]
        if problem.jax:
            contenders.append(Contender("JAX", partial(_jax, problem), ("jax",)))
        yield Case(
            problem.name,
            "",
            1,
            problem.data,
            tuple(contenders),
            problem.agreement,
        )


SET = Set("H", "hand", "Functions of all kinds beside code by hand.", cases)
