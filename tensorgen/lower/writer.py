"""The function under construction: its statements, and what they rely on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tensorgen.ir.dims import ZERO, Dim
from tensorgen.lower.code import Code
from tensorgen.lower.names import Names
from tensorgen.lower.share_calls import share_calls
from tensorgen.lower.text import Expr, Level

_ALIAS = re.compile(r"(?<![\w.])np\.")


class Writer:
    """Collects statements; spells calls of the array module under its alias."""

    def __init__(self, alias: str, names: Names) -> None:
        """Write for the array module called `alias`."""
        self.alias = alias
        self.names = names
        self.lines: list[str] = []
        self.dims: dict[str, None] = {}
        self.helpers: dict[str, None] = {}
        self.modules: dict[str, None] = {}
        self.refusals: dict[str, None] = {}
        self.needs_dtype = False
        self._vectors: dict[tuple[Dim, Dim], str] = {}

    def np(self, function: str, *arguments: str) -> str:
        """The text of a call of the array module."""
        return f"{self.alias}.{function}({', '.join(arguments)})"

    def template(self, text: str) -> str:
        """A template with the array module's alias in place of `np`."""
        return _ALIAS.sub(f"{self.alias}.", text)

    def dtype(self) -> str:
        """The name of the common dtype, which the caller binds."""
        self.needs_dtype = True
        return "dtype"

    def as_float(self, expr: Expr) -> Expr:
        """The array as numbers of the common dtype: masks and indices are not."""
        if expr.kind == "float":
            return expr
        if expr.weak:
            return Expr(f"int({expr.text})", weak=True)
        text = f"{expr.at(Level.ATOM)}.astype({self.dtype()})"
        return Expr(text, labels=expr.labels, boxed=expr.boxed)

    def assign(self, name: str, text: str) -> None:
        """Append the statement `name = text`."""
        self.lines.append(f"{name} = {text}")

    def size(self, dim: Dim) -> Expr:
        """A size as a Python integer, without a sign in front if possible."""
        self.dims.update(dict.fromkeys(dim.symbols))
        text = ""
        level = Level.ATOM
        terms = sorted(dim.terms, key=lambda term: (not term[0], term[1] < 0))
        if terms and terms[0][1] < 0:  # `1 - k`, but `n - k + 1`
            terms.sort(key=lambda term: term[1] < 0)
        for monomial, coefficient in terms:
            count = abs(coefficient)
            factors = [str(count)] * (count != 1 or not monomial) + list(monomial)
            body = " * ".join(factors)
            if text:
                text += f" {'-' if coefficient < 0 else '+'} {body}"
                level = Level.SUM
            else:
                text = f"-{body}" if coefficient < 0 else body
                level = Level.TERM if len(factors) > 1 else Level.ATOM
                if coefficient < 0:
                    level = min(level, Level.UNARY)
        return Expr(text or "0", level, weak=True)

    def count(self, dim: Dim) -> Expr:
        """The length of an interval, which may be empty by more than it takes."""
        size = self.size(dim)
        if dim.is_nonnegative():
            return size
        return Expr(f"max({size.text}, 0)", weak=True)

    def shape(self, dims: Sequence[Dim]) -> str:
        """A shape as an argument: a number for a vector, else a tuple."""
        sizes = [self.size(dim).text for dim in dims]
        return sizes[0] if len(sizes) == 1 else f"({', '.join(sizes)})"

    def vector(self, low: Dim, high: Dim) -> str:
        """The variable that holds the integers from `low` up to `high`."""
        key = (low, high)
        if key not in self._vectors:
            name = self.names.pick("ijklpqrst")
            limits = [high] if low == ZERO else [low, high]
            arguments = [self.size(limit).text for limit in limits]
            self.assign(name, self.np("arange", *arguments))
            self._vectors[key] = name
        return self._vectors[key]

    def code(self, returns: Sequence[str]) -> Code:
        """Everything written, with the expressions to return."""
        lines, found = share_calls(self.lines, returns, self.alias, self.names)
        return Code(
            tuple(lines),
            tuple(found),
            tuple(sorted(self.dims)),
            tuple(sorted(self.helpers)),
            tuple(sorted(self.modules)),
            self.needs_dtype,
            tuple(sorted(self.refusals, reverse=True)),
        )
