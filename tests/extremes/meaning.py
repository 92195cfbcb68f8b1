"""What a text means, in many digits, with two derivatives.

The text is read afresh as Python's syntax and followed literally: no rule of the
compiler has a say in what is right.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np

from tests.extremes.jets import FUNCTIONS, Jet, Number, plain, unary, variables

Array = Any
"""An array of objects, or one number."""

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.MatMult: lambda a, b: a.dot(b),
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.NotEq: operator.ne,
}
REDUCTIONS: dict[str, Callable[[list[Number]], Number]] = {
    "sum": lambda v: reduce(operator.add, v, mp.mpf(0)),
    "mean": lambda v: reduce(operator.add, v) / mp.mpf(len(v)),
    "prod": lambda v: reduce(operator.mul, v),
    "max": lambda v: max(v, key=plain),
    "norm": lambda v: unary("sqrt", reduce(operator.add, [x * x for x in v])),
    "logsumexp": lambda v: unary("log", reduce(operator.add, _exps(v))),
}
# Functions of a scale that give a scale; functions that are exponentials far out.
SCALING = ("sqrt", "sum", "mean", "prod")
EXPONENTIAL = (*SCALING, "exp", "cosh", "sinh", "sigmoid", "softmax", "where")


def _exps(v: list[Number]) -> list[Number]:
    return [unary("exp", x) for x in v]


class Meaning:
    """Evaluates texts; `largest` is the largest number that a double has to hold.

    A sum of exponentials may be as large as it likes inside a logarithm or a quotient;
    the logarithm, the quotient and the arguments of functions must be numbers. Values
    of other functions may not be tiny either: `largest` has their reciprocals too.
    """

    def __init__(self, names: Mapping[str, Array]) -> None:
        self.names = dict(names)
        self.largest = mp.mpf(0)

    def __call__(self, text: str) -> Number:
        return self._of(ast.parse(text, mode="eval").body, scaled=False)

    def _of(self, tree: ast.expr, scaled: bool) -> Array:
        found = self._value(tree, scaled)
        sizes = [abs(plain(x)) for x in np.ravel(np.asarray(found, dtype=object))]
        if not scaled:
            self.largest = max([self.largest, *sizes])
        if isinstance(tree, ast.Call) and ast.unparse(tree.func) not in EXPONENTIAL:
            self.largest = max([self.largest, *(1 / size for size in sizes if size)])
        return found

    def _value(self, tree: ast.expr, scaled: bool) -> Array:
        match tree:
            case ast.Constant(value=value):
                return mp.mpf(value)
            case ast.Name(id=name):
                return self.names[name]
            case ast.UnaryOp(operand=operand):
                return -self._of(operand, scaled)
            case ast.BinOp(left=left, op=op, right=right):
                below = scaled or isinstance(op, ast.Div)
                power = isinstance(op, ast.Pow)
                a, b = self._of(left, below), self._of(right, below and not power)
                if isinstance(b, np.ndarray):
                    a = np.asarray(a, dtype=object)
                return BINARY[type(op)](a, b)
            case ast.Subscript(value=value, slice=place):
                return self._of(value, True)[self._place(place)]
            case ast.Call(func=ast.Name(id=name)):
                return self._call(tree, name, scaled)
        raise NotImplementedError(ast.unparse(tree))

    def _place(self, tree: ast.expr) -> Any:
        places = tree.elts if isinstance(tree, ast.Tuple) else [tree]
        return tuple(int(self._of(place, True)) for place in places)

    def _call(self, tree: ast.Call, name: str, scaled: bool) -> Array:
        below = name == "log" or (scaled and name in SCALING)
        if name == "where":
            return self._where(tree, scaled)
        if name in REDUCTIONS:
            return REDUCTIONS[name](self._entries(tree, below))
        (argument,) = tree.args
        inside = self._of(argument, below)
        if name == "softmax":
            exps = np.array(_exps(list(inside)), dtype=object)
            return exps / REDUCTIONS["sum"](list(exps))
        assert name in FUNCTIONS, name
        if isinstance(inside, np.ndarray):
            entries = [unary(name, x) for x in inside.ravel()]
            return np.array(entries, dtype=object).reshape(inside.shape)
        return unary(name, inside)

    def _where(self, tree: ast.Call, scaled: bool) -> Array:
        condition, chosen, other = tree.args
        return self._of(chosen if self._holds(condition) else other, scaled)

    def _entries(self, tree: ast.Call, scaled: bool) -> list[Number]:
        """What a reduction takes: entries of an array, or one for each index."""
        body, *rest = tree.args
        if not rest and not tree.keywords:
            return list(np.ravel(np.asarray(self._of(body, scaled), dtype=object)))
        indices: list[tuple[str, ast.expr]]
        indices = [(r.id, r) for r in rest if isinstance(r, ast.Name)]
        indices += [(str(k.arg), k.value) for k in tree.keywords]
        conditions = [r for r in rest if isinstance(r, ast.Compare)]
        return [
            self._of(body, scaled)
            for _ in self._indexed(indices)
            if all(map(self._holds, conditions))
        ]

    def _indexed(self, indices: list[tuple[str, ast.expr]]) -> Iterator[None]:
        if not indices:
            yield
            return
        (name, limits), *others = indices
        bounds = [mp.mpf(self.names["n"])]
        if isinstance(limits, ast.Call):
            bounds = [self._of(limit, True) for limit in limits.args]
        outer = self.names.get(name)
        for k in range(*map(int, bounds)):
            self.names[name] = mp.mpf(k)
            yield from self._indexed(others)
        self.names.pop(name)
        if outer is not None:
            self.names[name] = outer

    def _holds(self, tree: ast.expr) -> bool:
        assert isinstance(tree, ast.Compare)
        left, right = self._of(tree.left, True), self._of(tree.comparators[0], True)
        return COMPARE[type(tree.ops[0])](plain(left), plain(right))


class Found(NamedTuple):
    """Value, gradient and upper Hessian in one list, and the terms they are sums of.

    `largest` is the largest number on the way that a double has to hold.
    """

    entries: list[Number]
    terms: list[Number]
    largest: Number


def differentiated(text: str, inputs: Mapping[str, np.ndarray], wrt: str) -> Found:
    """Value, gradient and Hessian of a text."""
    names: dict[str, Array] = {
        name: _exact(np.asarray(value)) for name, value in inputs.items()
    }
    shape = np.shape(inputs[wrt])
    jets = variables(list(np.ravel(np.asarray(names[wrt], dtype=object))))
    names[wrt] = np.array(jets, dtype=object).reshape(shape) if shape else jets[0]
    length = max(len(value) for value in names.values() if np.shape(value))
    meaning = Meaning({"n": mp.mpf(length), **names})
    found = meaning(text)
    if not isinstance(found, Jet):
        raise ValueError(f"{text} does not depend on {wrt}")
    error, *terms = found.terms
    entries = [found.value, *found.gradient, *found.hessian]
    return Found(entries, [error, *terms[0], *terms[1]], meaning.largest)


def _exact(values: np.ndarray) -> Array:
    if not values.shape:
        return mp.mpf(float(values))
    entries = [mp.mpf(float(x)) for x in values.ravel()]
    return np.array(entries, dtype=object).reshape(values.shape)
