"""SymPy's expressions, as objects of Python: read as specs.

Scalars, sums over entries of `IndexedBase`, and expressions of `MatrixSymbol`. Text is
never read here, for SymPy would evaluate it. The other way is `to_sympy`, in
`sympy_of_nodes.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from tensorgen.errors import fail, printable
from tensorgen.frontends import formula as tree
from tensorgen.frontends.declared import Declared, spelled
from tensorgen.frontends.shape_of import Words
from tensorgen.frontends.sympy_of_nodes import to_sympy
from tensorgen.frontends.translation import Translation
from tensorgen.frontends.write_spec import Asked, Model, write_spec
from tensorgen.ir.dims import Dim
from tensorgen.ir.index_text import letters

__all__ = ["read_sympy", "to_sympy"]

_WORDS = Words(
    "{0}.T",
    "{0}*{1}",
    "HadamardProduct({0}, {1})",
    "HadamardPower({0}, {1})",
    "{0}/{1}",
)
_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)

FUNCTIONS: Mapping[str, str] = {
    **{
        name: name
        for name in (
            *(
                "exp",
                "log",
                "sin",
                "cos",
                "tan",
                "asin",
                "acos",
                "atan",
                "sinh",
                "cosh",
            ),
            *("tanh", "asinh", "acosh", "atanh", "erf", "erfc", "sign", "digamma"),
            *("atan2",),
        )
    },
    **{"Abs": "abs", "loggamma": "lgamma", "floor": "floor", "ceiling": "ceil"},
    **{"Max": "maximum", "Min": "minimum", "Trace": "tr", "Determinant": "det"},
    **{"DiagMatrix": "diag", "DiagonalMatrix": "diag"},
    **{"And": "both", "Or": "either"},
}
"""SymPy's classes, and what the tree calls them; of several arguments, two by two."""

_COMPARISONS: Mapping[str, tree.Comparison] = {
    **{"StrictLessThan": "<", "LessThan": "<=", "StrictGreaterThan": ">"},
    **{"GreaterThan": ">=", "Equality": "==", "Unequality": "!="},
}
_CONSTANTS = {"Pi": "pi", "Exp1": "e", "Infinity": "inf"}


def read_sympy(
    expression: Any,
    *,
    wrt: Iterable[Any] = (),
    emit: Sequence[str] = (),
    module: str = "formula",
    name: str = "f",
) -> Translation:
    """Return the spec of an expression of SymPy's.

    `wrt` are symbols or their names. A `MatrixSymbol` with one column is a vector, and
    its sizes are those of the spec; symbols in shapes and in limits of sums are sizes,
    other symbols scalars. Raises `SpecError` at what the language cannot say.
    """
    # The first time shows which symbols are sizes, wherever they stand.
    first = _Reader()
    try:
        first.formula(expression)
        reader = _Reader(first.sizes)
        found = reader.formula(expression)
    except RecursionError:
        fail("the expression is nested too deeply", None)
    by = wrt if isinstance(wrt, list | tuple | set) else [wrt]
    asked = Asked(module, tuple(str(getattr(x, "name", x)) for x in by), tuple(emit))
    reader.check_names()
    model = Model(
        "SymPy",
        found,
        reader.declared,
        _WORDS,
        name,
        sizes=tuple(reader.sizes),
        text=_short(expression),
    )
    return write_spec(model, asked)


class _Reader:
    """Reads one expression."""

    def __init__(self, sizes: Iterable[str] = ()) -> None:
        self.declared: dict[str, Declared] = {}
        self.sizes: dict[str, None] = dict.fromkeys(sizes)
        self._bound: dict[Any, str] = {}
        self._places: dict[Any, tree.Formula] = {}
        self._rules = self._table()

    def _table(self) -> dict[str, Callable[[Any], tree.Formula]]:
        return {
            "Add": self._sum,
            "MatAdd": self._sum,
            "Mul": self._product,
            "MatMul": self._matrix_product,
            "DotProduct": self._inner,
            "Pow": self._power,
            "MatPow": lambda x: self._binary("^", *x.args),
            "HadamardProduct": lambda x: self._folded(".*", x.args),
            "HadamardPower": lambda x: self._binary(".^", *x.args),
            "Transpose": lambda x: tree.Transposed(None, self.formula(x.arg)),
            "Identity": lambda x: tree.Identity(None, self._size(x.shape[0])),
            "ZeroMatrix": lambda x: self._filled(x, "0"),
            "OneMatrix": lambda x: self._filled(x, "1"),
            "MatrixSymbol": self._matrix,
            "MatrixElement": self._matrix_entry,
            "Indexed": self._entry,
            "IndexedBase": lambda x: _refuse(x, "an array without places"),
            "Sum": lambda x: self._total("sum", x),
            "Product": lambda x: self._total("prod", x),
            "Piecewise": self._cases,
            "KroneckerDelta": self._delta,
            "Heaviside": self._step,
            "Inverse": lambda x: tree.Call(None, "inv", (self.formula(x.arg),)),
            "ElementwiseApplyFunction": self._by_entry,
            "BooleanTrue": lambda x: tree.Compared(None, "==", _number(0), _number(0)),
        }

    def formula(self, x: Any) -> tree.Formula:
        """Return an expression as a tree."""
        kind = type(x).__name__
        if isinstance(x, int | float):
            return _signed(str(x))
        if getattr(x, "is_Number", False) and kind not in _CONSTANTS:
            return self._numeral(x)
        if kind in _CONSTANTS:
            return tree.Number(None, _CONSTANTS[kind])
        if kind == "NegativeInfinity":
            return tree.Minus(None, tree.Number(None, "inf"))
        if kind in ("Symbol", "Dummy", "Idx"):
            return self._symbol(x)
        if kind in self._rules:
            return self._rules[kind](x)
        if kind in _COMPARISONS:
            left, right = map(self.formula, x.args)
            return tree.Compared(None, _COMPARISONS[kind], left, right)
        if kind in FUNCTIONS:
            return self._call(x, FUNCTIONS[kind])
        _refuse(x, f"'{kind}'")

    # --- numbers and names --------------------------------------------------

    def _numeral(self, x: Any) -> tree.Formula:
        if not x.is_finite:
            _refuse(x, "this number")
        if x.is_Rational and x.q != 1:
            above = _number(abs(x.p))
            found = tree.Binary(None, "/", above, _number(x.q))
            return tree.Minus(None, found) if x.p < 0 else found
        return _signed(str(x) if x.is_Rational else repr(float(x)))

    def _symbol(self, x: Any) -> tree.Formula:
        if x in self._places:
            return self._places[x]
        if x in self._bound or str(x) in self.sizes:
            return tree.Whole(None, self._size(x))
        return self._named(x.name, 0, None)

    def _named(
        self,
        name: str,
        order: int,
        sizes: tuple[Dim | None, ...] | None,
        is_row: bool = False,
    ) -> tree.Name:
        own = Declared(name, order, sizes=sizes, is_row=is_row)
        first = self.declared.setdefault(name, own)
        if first.order != order:
            fail(f"'{name}' is a {first.kind} and a {own.kind}", None)
        return tree.Name(None, name)

    def check_names(self) -> None:
        """Raise `SpecError` where a spec can have no such names."""
        for name in (*self.declared, *self.sizes):
            if not _NAME.fullmatch(name):
                hint = "a name is an ASCII letter, then letters, digits and underscores"
                fail(f"'{printable(name)}' cannot be a name", None, hint=hint)
        both = [x for x in self.sizes if x in self.declared]
        if both:
            fail(f"'{both[0]}' is the name of a size and of a variable", None)
        wrong = [x for x in self.sizes if spelled(x) != x]
        if wrong:
            fail(f"'{wrong[0]}' cannot be the name of a size", None)

    def _size(self, x: Any) -> Dim:
        """A size or a place: a polynomial of symbols."""
        kind = type(x).__name__
        if isinstance(x, int) or getattr(x, "is_Integer", False):
            return Dim.of(int(x))
        if kind in ("Symbol", "Idx", "Dummy"):
            if x not in self._bound:
                self.sizes[str(x)] = None
            return Dim.symbol(self._bound.get(x, str(x)))
        if kind == "Add":
            return sum((self._size(y) for y in x.args), Dim())
        if kind == "Mul":
            found = Dim.of(1)
            for y in x.args:
                found = found * self._size(y)
            return found
        _refuse(x, "this size or place")

    # --- arithmetic ---------------------------------------------------------

    def _sum(self, x: Any) -> tree.Formula:
        terms: list[tuple[bool, tree.Formula]] = []
        for term in x.args:
            found = self.formula(term)
            minus = isinstance(found, tree.Minus)
            terms.append(
                (minus, found.operand if isinstance(found, tree.Minus) else found)
            )
        # A difference begins with what is not subtracted.
        terms.sort(key=lambda term: term[0])
        return tree.Sum(None, tuple(terms))

    def _product(self, x: Any) -> tree.Formula:
        coefficient, factors = x.as_coeff_mul()
        above, below = list[tree.Formula](), list[tree.Formula]()
        for factor in factors:
            base, exponent = (*getattr(factor, "args", ()), None, None)[:2]
            is_power = type(factor).__name__ == "Pow" and exponent.is_number
            if is_power and exponent.is_negative:
                below.append(self.formula(base**-exponent))
            else:
                above.append(self.formula(factor))
        size = abs(coefficient)
        if size != 1 and size.is_Rational:
            above[:0] = [_number(size.p)] if size.p != 1 else []
            below += [_number(size.q)] if size.q != 1 else []
        elif size != 1:
            above.insert(0, self.formula(size))
        found = _chained("*", above or [_number(1)])
        for divisor in below:
            found = tree.Binary(None, "/", found, divisor)
        return tree.Minus(None, found) if coefficient.is_negative else found

    def _matrix_product(self, x: Any) -> tree.Formula:
        found = [self.formula(factor) for factor in x.args]
        minus = isinstance(found[0], tree.Minus)
        if isinstance(found[0], tree.Minus):
            found[0] = found[0].operand
        product = _chained("*", found)
        return tree.Minus(None, product) if minus else product

    def _inner(self, x: Any) -> tree.Formula:
        left, right = map(self.formula, x.args)
        return tree.Call(None, "inner", (left, right))

    def _power(self, x: Any) -> tree.Formula:
        base, exponent = x.args
        if exponent.is_Rational and (abs(exponent.p), exponent.q) == (1, 2):
            root = tree.Call(None, "sqrt", (self.formula(base),))
            if exponent.is_negative:
                return tree.Binary(None, "/", _number(1), root)
            return root
        if exponent == -1:
            return tree.Binary(None, "/", _number(1), self.formula(base))
        if type(base).__name__ == "Exp1":
            return tree.Call(None, "exp", (self.formula(exponent),))
        return self._binary("^", base, exponent)

    def _binary(self, sign: tree.Sign, left: Any, right: Any) -> tree.Formula:
        return tree.Binary(None, sign, self.formula(left), self.formula(right))

    def _folded(self, sign: tree.Sign, args: Iterable[Any]) -> tree.Formula:
        return _chained(sign, [self.formula(x) for x in args])

    def _call(self, x: Any, function: str) -> tree.Formula:
        arguments = [self.formula(argument) for argument in x.args]
        if function == "log" and len(arguments) == 2:
            logs = [tree.Call(None, "log", (argument,)) for argument in arguments]
            return tree.Binary(None, "/", *logs)
        if function in ("maximum", "minimum", "both", "either"):
            found = arguments[0]
            for other in arguments[1:]:
                found = tree.Call(None, function, (found, other))
            return found
        return tree.Call(None, function, tuple(arguments))

    def _cases(self, x: Any) -> tree.Formula:
        *first, (last, otherwise) = x.args
        if otherwise != True:  # noqa: E712  (SymPy's own truth)
            _refuse(x, "a Piecewise that is not defined everywhere")
        found = self.formula(last)
        for value, condition in reversed(first):
            case = (self.formula(condition), self.formula(value), found)
            found = tree.Call(None, "where", case)
        return found

    def _delta(self, x: Any) -> tree.Formula:
        places = [tree.Whole(None, self._size(place)) for place in x.args[:2]]
        return tree.Call(None, "delta", tuple(places))

    def _step(self, x: Any) -> tree.Formula:
        at, middle = x.args
        if middle != 1:
            _refuse(x, "a Heaviside that is not 1 at 0")
        condition = tree.Compared(None, ">=", self.formula(at), _number(0))
        return tree.Call(None, "where", (condition, _number(1), _number(0)))

    def _by_entry(self, x: Any) -> tree.Formula:
        """`X.applyfunc(exp)`: the body of a function, with a matrix in it."""
        (variable,) = x.function.variables
        matrix = self.formula(x.expr)
        before, self._places = self._places, {**self._places, variable: matrix}
        found = self.formula(x.function.expr)
        self._places = before
        return tree.entrywise(found, matrix)

    # --- arrays ---------------------------------------------------------------

    def _matrix(self, x: Any) -> tree.Formula:
        rows, columns = (self._size(size) for size in x.shape)
        sizes = tuple(size for size in (rows, columns) if size != 1)
        is_row = rows == 1 and columns != 1
        return self._named(x.name, len(sizes), sizes, is_row)

    def _filled(self, x: Any, value: str) -> tree.Formula:
        sizes = tuple(self._size(size) for size in x.shape)
        kept = tuple(size for size in sizes if size != 1)
        if not kept:
            return tree.Number(None, value)
        found = tree.Filled(None, tree.Number(None, value), len(kept), kept)
        is_row = len(kept) == 1 and sizes[0] == 1
        return tree.Transposed(None, found) if is_row else found

    def _matrix_entry(self, x: Any) -> tree.Formula:
        matrix, *places = x.args
        found = self.formula(matrix)
        if all(size == 1 for size in matrix.shape):
            return found
        if not isinstance(found, tree.Name):
            _refuse(x, "an entry of a formula")
        own = [
            self._size(place)
            for place, size in zip(places, matrix.shape, strict=True)
            if size != 1
        ]
        return tree.Entry(None, found, tuple(own))

    def _entry(self, x: Any) -> tree.Formula:
        base, *places = x.args
        shape = base.shape
        sizes = None if shape is None else tuple(self._size(size) for size in shape)
        label = str(base.label)
        name = self._named(label, len(places), sizes)
        return tree.Entry(None, name, tuple(self._size(place) for place in places))

    def _total(self, function: str, x: Any) -> tree.Formula:
        body, *limits = x.args
        ranges: list[tuple[str, tuple[Dim, Dim]]] = []
        # The last one stands outside, and the others may mention its index.
        for limit in reversed(limits):
            if len(limit) != 3:
                _refuse(x, "a sum without limits")
            index, first, last = limit
            own = self._size(first), self._size(last) + 1
            name = self._index_name(index)
            ranges.append((name, own))
            self._bound[index] = name
        found = self.formula(body)
        for name, own in reversed(ranges):
            found = tree.Total(None, function, found, name, own)
        for limit in limits:
            del self._bound[limit[0]]
        return found

    def _index_name(self, index: Any) -> str:
        """A name for an index: SymPy's own begin with underscores."""
        name = str(index)
        if _NAME.fullmatch(name):
            return name
        taken = {*self._bound.values(), *self.sizes, *self.declared}
        return next(x for x in letters(()) if x not in taken)


def _chained(sign: tree.Sign, factors: Sequence[tree.Formula]) -> tree.Formula:
    found = factors[0]
    for factor in factors[1:]:
        found = tree.Binary(None, sign, found, factor)
    return found


def _number(value: Any) -> tree.Number:
    return tree.Number(None, str(value))


def _signed(text: str) -> tree.Formula:
    if text.startswith("-"):
        return tree.Minus(None, tree.Number(None, text[1:]))
    return tree.Number(None, text)


def _short(x: Any) -> str:
    text = str(x)
    return text if len(text) <= 200 else text[:197] + "..."


def _refuse(x: Any, what: str) -> NoReturn:
    fail(f"{what} has no counterpart: {printable(_short(x))}", None)
