"""Specs in which one name is that of something that generated code uses itself.

The names are read off generated modules, by their symbol tables, and the specs use
every part of the frame: so whatever a template comes to use is tried as well.
"""

from __future__ import annotations

import re
import symtable
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

import tensorgen

# Each text has one name a role, which stands nowhere else: qi, qd, ql, qf.
SPECS = (
    """\
tensorgen: 1
inputs: {qi: [qd], X: [m, qd], y: [m], c: scalar, lam: {shape: scalar, default: 0.5}}
functions:
  qf:
    where: |
      ql = X @ qi - y
      other = exp(ql / 9)
    expr: sum(softplus(ql)) + sum(other) + lam * sum(qi**2) + sum(tanh(c * qi)) / qd
    wrt: [qi, c]
    emit: [value, gradient, hessian, hvp, jvp, vjp, problem, [qi, c], [qi, qi, qi]]
  g: {expr: "X[:, 1:] @ qi[:-1]**2", wrt: [qi, X], emit: [value, jacobian, vjp]}
""",
    """\
tensorgen: 1
inputs:
  U: [m, k]
  qi: [qd, k]
  row: {shape: [E], index: m}
  col: {shape: [E], index: qd}
  rating: [E]
functions:
  qf:
    where: ql[e] = rating[e] - sum(U[row[e], a] * qi[col[e], a], a)
    expr: sum(ql**2) + sum(qi**2) + sum(U**4) / qd
    wrt: [U, qi]
    emit: [value, gradient, hessian, problem]
  chain:
    where: ql[i] = qi[i + 1, 0] - qi[i, 0]
    expr: sum(ql**4) + sum(qi**2)
    wrt: qi
    emit: [hessian, 3, problem]
""",
    """\
tensorgen: 1
inputs: {qi: {shape: [qd, qd], spd: true}, b: [qd], s: scalar, Y: [qd, m]}
functions:
  qf:
    where: |
      ql = qi + s**2 * eye(qd)
    expr: b @ solve(ql, b) + logdet(ql) + sum(erf(Y)) + trace(expm(ql / 9)) + cbrt(s)
    wrt: s
    emit: [value, gradient, hessian, problem]
  low:
    where: ql = Y.T @ b
    expr: sum(b**2) + sum(ql**2) * lgamma(3) + sum(where(b > 0, log(b), 0))
    wrt: b
    emit: [hessian, gradient, problem]
  steps: {expr: "sum(Y @ Y.T) + max(Y)", wrt: Y, emit: [gradient, hessian]}
""",
)
ROLES = ("qi", "qd", "ql", "qf")
_OTHERS = ("X", "y", "m", "U", "k", "row", "rating", "Y", "b", "s", "other")


def own_names() -> list[str]:
    """Return the names that modules of these specs use beside those of the specs."""
    found: dict[str, None] = {}
    for text in SPECS:
        for backend in ("numpy", "cupy"):
            source = tensorgen.generate(text, backend)
            for table in tables(symtable.symtable(source, "module", "exec")):
                if _has_names_of_the_spec(table):
                    found.update(dict.fromkeys(table.get_identifiers()))
    spec = {name for text in SPECS for name in re.findall(r"\w+", text)}
    good = [n for n in found if n[0].isalpha() and n not in spec and "q" not in n]
    return sorted(good)


def tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """Yield a symbol table and those inside of it."""
    yield table
    for child in table.get_children():
        yield from tables(child)


def _has_names_of_the_spec(table: symtable.SymbolTable) -> bool:
    """Whether a scope is the module, or binds arguments, sizes or values of a spec."""
    names = {name.removeprefix("d") for name in table.get_identifiers()}
    return table.get_type() == "module" or bool(names & {*ROLES, *_OTHERS})


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a spec in which what has a role bears a name."""
    return re.sub(r"\bq\w\b", lambda match: names.get(match[0], match[0]), text)


def values(text: str, names: Mapping[str, str]) -> list[Any]:
    """Return all that the module of a spec computes, in a fixed order."""
    module = tensorgen.load(renamed(text, names))
    argument = _arguments(text)
    given = {names.get(key, key): value for key, value in argument.items()}
    given |= {f"d{key}": value for key, value in given.items()}
    found: list[Any] = []
    back = {name: role for role, name in names.items()}
    for public in sorted(
        module.__all__, key=lambda own: [back.get(x, x) for x in own.split("_")]
    ):
        made = getattr(module, public)
        if isinstance(made, type) and hasattr(made, "pack"):
            found += _problem(made, given)
        elif not isinstance(made, type):
            found += _function(made, given)
    return [np.asarray(value) for value in found]


@cache
def plain_values(text: str) -> list[Any]:
    """What the module of a spec computes where nothing has another name."""
    return values(text, {})


def _arguments(text: str) -> dict[str, Any]:
    sizes = {"qd": 3, "m": 4, "k": 2, "E": 6}
    chance = np.random.default_rng(1)
    found: dict[str, Any] = {}
    inputs = text.partition("inputs:")[2].partition("functions:")[0]
    for name, shape in re.findall(r"(\w+): (?:\{shape: )?(\[.*?\]|scalar)", inputs):
        dims = [sizes[dim] for dim in re.findall(r"\w+", shape) if dim != "scalar"]
        found[name] = chance.uniform(0.5, 1.5, dims)
    if "row" in found:
        found["row"], found["col"] = np.arange(6) % 4, np.arange(6) % 3
    if "spd" in text:
        found["qi"] = found["qi"] @ found["qi"].T + np.eye(3)
    return found


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _function(function: Callable[..., Any], given: dict[str, Any]) -> Iterator[Any]:
    names = _parameters(function)
    known = {name: given[name] for name in names if name in given}
    if "ct" in names:
        value = {k: v for k, v in known.items() if not (k[0] == "d" and k[1:] in known)}
        scope: ModuleType = function.__globals__  # type: ignore[assignment]
        known["ct"] = scope[function.__name__.removesuffix("_vjp")](**value)  # type: ignore[index]
    yield from _flat(function(**known))


def _flat(result: Any) -> Iterator[Any]:
    """The numbers in a result, be it arrays, a tuple or an object."""
    if isinstance(result, tuple):
        for part in result:
            yield from _flat(part)
    elif hasattr(result, "dense"):
        yield from _object(result)
    else:
        yield result


def _object(result: Any) -> Iterator[Any]:
    if not hasattr(result, "blocks"):
        yield result.dense()
    if hasattr(result, "contract"):
        return
    v = np.linspace(1, 2, result.shape[1])
    yield result @ v
    if hasattr(result, "rmatvec"):
        yield result.rmatvec(np.linspace(1, 2, result.shape[0]))
    rows, columns, entries = result.coo()
    dense = np.zeros(result.shape)
    np.add.at(dense, (rows, columns), entries)
    yield dense
    if hasattr(result, "solve"):
        yield result.diagonal()
        yield result.solve(v, shift=30.0)
        yield result.factorize(shift=30.0).logdet


def _problem(made: Any, given: dict[str, Any]) -> Iterator[Any]:
    own = {name: given[name] for name in _parameters(made.__init__) if name in given}
    problem = made(**own)
    packed = {n: given[n] for n in _parameters(made.pack) if n in given}
    v = problem.pack(**packed)
    yield v
    yield from _flat(problem.unpack(v))
    yield problem.value(v)
    yield problem.gradient(v)
    yield problem.value(v.astype(np.float32))
    if hasattr(problem, "hessian"):
        yield from _object(problem.hessian(v))
    yield problem.hvp(v, v[::-1])
