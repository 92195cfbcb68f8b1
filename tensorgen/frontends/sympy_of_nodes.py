"""Functions of a spec as expressions of SymPy's: entries, and sums over indices.

A scalar input is a `Symbol`, a vector an `IndexedBase`, a matrix a `MatrixSymbol`, so
that its inverse and determinant can be said. Dims are positive integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

from tensorgen.calculus.differentiate import Differentiate
from tensorgen.errors import Source, fail, suggest
from tensorgen.ir.affine_forms import AffineForm
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.index_text import letters, names_in, solved_labels
from tensorgen.ir.nodes import (
    Affine,
    Call,
    Constant,
    Constraint,
    Input,
    Iota,
    Lookup,
    Map,
    Node,
    Product,
    Size,
    Sum,
    topological,
)
from tensorgen.lang.program import elaborate
from tensorgen.spec.read import read_spec


class SympyFunction(NamedTuple):
    """An expression of one entry, and the indices that say of which: none of a scalar.

    The indices count from 0, and end before the `shape`.
    """

    expression: Any
    indices: tuple[Any, ...] = ()
    shape: tuple[Any, ...] = ()


def to_sympy(spec: str, function: str | None = None) -> SympyFunction:
    """Return a function of a spec, by default its first, as SymPy says it.

    `spec` is the text of a spec. Raises `SpecError` where the spec is wrong, and where
    SymPy has no word for what the function calls; `ImportError` without SymPy.
    """
    if find_spec("sympy") is None:
        raise ImportError("to_sympy needs SymPy: pip install sympy")
    read = read_spec(Source("<spec>", spec))
    # Without stable forms: log(1 + exp(t)) stays what SymPy knows.
    graph = Graph()
    variables = {wrt.name for own in read.functions for wrt in own.wrt}
    program = elaborate(read, graph, Differentiate(graph, variables))
    own = {x.spec.name: x for x in program.functions}
    if function is not None and function not in own:
        hint = suggest(function, own) or f"known: {', '.join(own)}"
        fail(f"the spec has no function '{function}'", None, hint=hint)
    found = own[function] if function is not None else program.functions[0]
    return _Speaker(found.node).function()


class _Speaker:
    """Says what a node is at some places."""

    def __init__(self, root: Node) -> None:
        import sympy

        self.sympy = sympy
        self.root = root
        nodes = topological([root])
        self._letters: Iterator[str] = letters(names_in(nodes))
        self._known: dict[tuple[Node, tuple[Any, ...]], Any] = {}

    def function(self) -> SympyFunction:
        """The root, at indices of its own."""
        indices = tuple(self._index() for _ in self.root.dims)
        shape = tuple(self._dim(size) for size in self.root.dims)
        try:
            found = self.at(self.root, indices)
        except RecursionError:
            fail("the function is nested too deeply", None)
        return SympyFunction(found, indices, shape)

    def _index(self) -> Any:
        return self.sympy.Symbol(next(self._letters), integer=True)

    def _size(self, name: str) -> Any:
        return self.sympy.Symbol(name, integer=True, positive=True)

    def _dim(self, size: Dim) -> Any:
        terms = (
            self.sympy.Rational(str(c)) * self.sympy.Mul(*map(self._size, names))
            for names, c in size.terms
        )
        return self.sympy.Add(*terms)

    def at(self, node: Node, places: tuple[Any, ...]) -> Any:
        """The entry of a node at these places."""
        key = (node, places)
        if key not in self._known:
            self._known[key] = self._at(node, places)
        return self._known[key]

    def _at(self, node: Node, places: tuple[Any, ...]) -> Any:
        sympy = self.sympy
        match node:
            case Input():
                return self._input(node, places)
            case Constant(name=name):
                return {"pi": sympy.pi, "e": sympy.E, "inf": sympy.oo}[name]
            case Size(value=value):
                return self._dim(value)
            case Iota():
                return places[0]
            case Sum(terms=terms):
                return sympy.Add(
                    *(
                        sympy.Rational(str(term.coefficient))
                        * self.at(term.node, tuple(places[x] for x in term.labels))
                        for term in terms
                    )
                )
            case Map():
                return self._map(node, places)
            case Product():
                return self._product(node, places)
            case Call():
                return self._call(node, places)

    def _input(self, node: Input, places: tuple[Any, ...]) -> Any:
        sympy = self.sympy
        if not node.order:
            return sympy.Symbol(node.name, real=True)
        if node.order == 2:
            return self._matrix(node)[places]
        return sympy.IndexedBase(node.name, shape=(*map(self._dim, node.dims),))[places]

    def _matrix(self, node: Input) -> Any:
        return self.sympy.MatrixSymbol(node.name, *map(self._dim, node.dims))

    def _map(self, node: Map, places: tuple[Any, ...]) -> Any:
        args = [self.at(x.node, tuple(places[k] for k in x.labels)) for x in node.args]
        spoken = _FUNCTIONS.get(node.function)
        if spoken is None:
            fail(f"SymPy has no word for '{node.function}'", None)
        return spoken(self.sympy, *args)

    def _product(self, node: Product, places: tuple[Any, ...]) -> Any:
        sympy = self.sympy
        fixed, constraints = solved_labels(node)
        where: dict[int, Any] = dict(enumerate(places))
        summed = []
        for label, size in enumerate(node.inner, node.order):
            if label not in fixed:
                where[label] = self._index()
                summed.append((where[label], 0, self._dim(size) - 1))
        for label, form in reversed(fixed.items()):
            where[label] = self._form(form, where)
        found = sympy.Rational(str(node.coefficient))
        for factor in node.factors:
            found *= self.at(factor.node, tuple(where[x] for x in factor.labels))
        for constraint in constraints:
            found = self._constrained(constraint, where, found)
        return sympy.Sum(found, *summed) if summed else found

    def _form(self, form: AffineForm[Any], where: Mapping[int, Any]) -> Any:
        found = self._dim(form.const)
        for atom, scale in form.terms:
            if isinstance(atom, Lookup):
                entry = tuple(where[x] for x in atom.labels)
                found += scale * self.at(atom.node, entry)
            else:
                found += scale * where[atom]
        return found

    def _constrained(
        self, constraint: Constraint, where: Mapping[int, Any], value: Any
    ) -> Any:
        sympy = self.sympy
        form: Affine = constraint.form
        if constraint.kind == "ge":
            # SymPy draws a Piecewise out of the sum whose index it is about.
            return value * sympy.Heaviside(self._form(form, where), 1)
        # One index against all else: delta(i, j + 1).
        plus = [(atom, c) for atom, c in form.terms if c == 1 and atom in where]
        if not plus:
            return value * sympy.KroneckerDelta(self._form(form, where), 0)
        index = where[plus[0][0]]
        return value * sympy.KroneckerDelta(index, index - self._form(form, where))

    def _call(self, node: Call, places: tuple[Any, ...]) -> Any:
        sympy = self.sympy
        operand = node.args[0] if node.args else None
        if isinstance(operand, Input) and operand.order == 2 and len(node.args) == 1:
            if node.operator == "inv":
                return self._matrix(operand).inverse()[places]
            if node.operator in ("det", "logdet"):
                found = sympy.Determinant(self._matrix(operand))
                log = sympy.log(sympy.Abs(found))
                return found if node.operator == "det" else log
        axes = dict(node.params).get("axes")
        is_total = operand is not None and axes == tuple(range(operand.order))
        if operand is not None and is_total and node.operator in _TOTALS:
            return _TOTALS[node.operator](sympy, self._summed(operand, node))
        fail(f"SymPy has no word for '{node.operator}' of what it is called with", None)

    def _summed(self, operand: Node, node: Call) -> Any:
        """The sum over all entries of what a reduction adds up."""
        indices = tuple(self._index() for _ in operand.dims)
        entry = _TERMS[node.operator](self.sympy, self.at(operand, indices))
        limits = [
            (index, 0, self._dim(size) - 1)
            for index, size in zip(indices, operand.dims, strict=True)
        ]
        return self.sympy.Sum(entry, *limits)


Spoken = Callable[..., Any]


def _same(name: str) -> Spoken:
    return lambda sympy, *args: getattr(sympy, name)(*args)


def _compared(name: str) -> Spoken:
    return lambda sympy, a, b: getattr(sympy, name)(a, b)


def _where(sympy: Any, condition: Any, value: Any, otherwise: Any) -> Any:
    return sympy.Piecewise((value, condition), (otherwise, True))


_FUNCTIONS: Mapping[str, Spoken] = {
    **{
        name: _same(name)
        for name in (
            *("exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan"),
            *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc"),
            *("sign", "cbrt", "digamma", "atan2", "floor"),
        )
    },
    **{"abs": _same("Abs"), "lgamma": _same("loggamma")},
    **{"maximum": _same("Max"), "minimum": _same("Min")},
    "pow": lambda sympy, a, b: a**b,
    "expm1": lambda sympy, x: sympy.exp(x) - 1,
    "log1p": lambda sympy, x: sympy.log(1 + x),
    "log2": lambda sympy, x: sympy.log(x, 2),
    "log10": lambda sympy, x: sympy.log(x, 10),
    "sigmoid": lambda sympy, x: 1 / (1 + sympy.exp(-x)),
    "log_sigmoid": lambda sympy, x: -sympy.log(1 + sympy.exp(-x)),
    "softplus": lambda sympy, x: sympy.log(1 + sympy.exp(x)),
    "logaddexp": lambda sympy, a, b: sympy.log(sympy.exp(a) + sympy.exp(b)),
    "relu": lambda sympy, x: sympy.Max(x, 0),
    "hypot": lambda sympy, a, b: sympy.sqrt(a**2 + b**2),
    "where": _where,
    **{"greater": _compared("Gt"), "greater_equal": _compared("Ge")},
    **{"less": _compared("Lt"), "less_equal": _compared("Le")},
    **{"equal": _compared("Eq"), "not_equal": _compared("Ne")},
    **{"logical_and": _compared("And"), "logical_or": _compared("Or")},
}
"""Elementwise functions by the names of their rows."""

_TERMS: Mapping[str, Spoken] = {
    "norm": lambda sympy, x: x**2,
    "logsumexp": lambda sympy, x: sympy.exp(x),
}
_TOTALS: Mapping[str, Spoken] = {
    "norm": lambda sympy, total: sympy.sqrt(total),
    "logsumexp": lambda sympy, total: sympy.log(total),
}
"""Reductions: what is added up of each entry, and what is made of the sum."""
