"""Tables that step along two indices: `R[i, j] = ... R[i - 1, j] ... R[i, j - 1]`.

Entries of one diagonal, those with the same i + j, need others of diagonals before it
alone. So a table is read as a recurrence over its diagonals, `S[i + j, i] = R[i, j]`:
where i is 0 an entry of diagonal d is what the first row says, where i is d it is what
the first column says, and in between what the step says.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace

from tensorgen.errors import Text, fail
from tensorgen.ir.dims import Dim
from tensorgen.lang.affine import affine_form
from tensorgen.lang.facts import Bounds
from tensorgen.lang.grouping import mentioned
from tensorgen.lang.index_forms import Form, Index
from tensorgen.lang.reach import intervals
from tensorgen.lang.scope import Names, Record, Thing
from tensorgen.lang.sides import Noted, Place, Side, is_name, note_range
from tensorgen.lang.statement import Session, Statement
from tensorgen.lang.syntax import Expression, parsed, places_of, with_parts, with_places
from tensorgen.operators.functions.array import Array
from tensorgen.spec.names import unused

Made = dict[str, tuple[Array | None, Record]]
_ENTRY = (
    "where({i} == 0, where({d} < M_, ROW_, 0), where({i} == {d}, COLUMN_, {between}))"
)
_BETWEEN = "where(({i} < {d}) & ({d} - {i} < M_), STEP_, 0)"


def table(session: Session, names: Names, sides: Sequence[Side]) -> Table | None:
    """Return the table that definitions of one name give, if they do."""
    firsts = [side for side in sides if any(p.at is not None for p in side.places)]
    steps = [side for side in sides if side not in firsts]
    along = sorted(
        {k for side in firsts for k, p in enumerate(side.places) if p.at is not None}
    )
    if len({side.definition.name for side in sides}) > 1 or len(along) != 2:
        return None
    row, column = along
    shape = {len(side.places) for side in sides}
    if len(steps) != 1 or len(shape) > 1 or None in _indices(steps[0], along):
        return None
    return Table(session, names, steps[0], firsts, (row, column))


def _indices(side: Side, along: Sequence[int]) -> list[str | None]:
    return [side.places[k].index for k in along]


class Table:
    """A table, while it is read."""

    def __init__(
        self,
        session: Session,
        names: Names,
        step: Side,
        firsts: Sequence[Side],
        along: tuple[int, int],
    ) -> None:
        """Find its first entries: its corner, its first row and its first column."""
        self.session, self.names, self.step, self.along = session, names, step, along
        self.name, self.record = step.definition.name, Record()
        self.row, self.column = (str(x) for x in _indices(step, along))
        self.rest = [k for k in range(len(step.places)) if k not in along]
        self.corner = self._first(firsts, (True, True))
        self.first_row = self._first(firsts, (True, False))
        self.first_column = self._first(firsts, (False, True))
        missing = [
            f"{self._shown(*at)} = ..."
            for at, side in (
                (("0", self.column), self.first_row),
                ((self.row, "0"), self.first_column),
            )
            if side is None
        ]
        if missing:
            message = f"the first entries of the table '{self.name}' are missing"
            fail(message, step.span, hint=f"add {' and '.join(missing)}")
        taken = {*names.all, *names.local, *names.file, self.row, self.column}
        taken |= {x for side in (step, *firsts) for x in mentioned(side.body)}
        taken |= {str(p.index) for p in step.places}
        self.diagonal = unused("d", taken)
        self.diagonals = unused(f"{self.name}_diagonals", taken)

    def _first(self, firsts: Sequence[Side], fixed: tuple[bool, bool]) -> Side | None:
        """The definition of first entries that are fixed along these places."""
        found = None
        for side in firsts:
            at = [side.places[k].at for k in self.along]
            if tuple(place is not None for place in at) != fixed:
                continue
            if any(place is not None and place != 0 for place in at):
                step = self._shown(f"{self.row} + 1", f"{self.column} + 1")
                hint = f"entries behind the first are given by a step, {step} = ..."
                fail(f"the table '{self.name}' begins at 0", side.span, hint=hint)
            if found is not None:
                marks = [(found.span, "first here"), (side.span, "and here")]
                fail(f"'{self.name}' has this entry twice", side.span, marks=marks)
            found = side
        return found

    def _shown(self, row: str, column: str) -> str:
        texts = [p.index or ":" for p in self.step.places]
        for k, text in zip(self.along, (row, column), strict=True):
            texts[k] = text
        return f"{self.name}[{', '.join(texts)}]"

    # Its diagonals

    def over_diagonals(self) -> list[Side]:
        """Return definitions that step over the diagonals."""
        assert self.first_row is not None
        assert self.first_column is not None
        i, j, d = self.row, self.column, self.diagonal
        step = self._named(self.step, i, j)
        row = self._named(self.first_row, None, j)
        column = self._named(self.first_column, i, None)
        height = self._extent(i, 0, [(self.step, step), (self.first_column, column)])
        width = self._extent(j, 1, [(self.step, step), (self.first_row, row)])
        self.shape = height, width
        self.lags = 1
        taken = self._taken
        given = {
            "STEP_": taken(step, lambda a, b: a is not None and b is not None),
            "ROW_": taken(row, lambda a, b: a is None and b is not None),
            "COLUMN_": taken(column, lambda a, b: a is not None and b is None),
        }
        self._put_states(given)
        given["STEP_"] = _put(given["STEP_"], {j: f"{d} - {i}"})
        given["ROW_"] = _put(given["ROW_"], {j: d})
        text = _ENTRY.format(i=i, d=d, between=_BETWEEN.format(i=i, d=d))
        body = self._joined(text, given, str(width))
        if self.corner is not None:
            corner = self._named(self.corner, None, None)
        elif self.name in mentioned(row):
            message = f"the first entry of the table '{self.name}' is missing"
            hint = f"add {self._shown('0', '0')} = ..."
            fail(message, self.first_row.span, hint=hint)
        else:
            corner = _put(row, {j: "0"})
        first = self._joined(f"where({i} == 0, CORNER_, 0)", {"CORNER_": corner}, "")
        return [
            *(self._side(first, at=k) for k in range(self.lags)),
            self._side(body, None),
        ]

    def _side(self, body: Expression, at: int | None) -> Side:
        """A first diagonal, or the step over them."""
        span = self.step.span
        height, width = self.shape
        steps = Text.plain(f"range(1, {height + width - 1})")
        place = Place(span, index=self.diagonal, shift=self.lags - 1, given=steps)
        if at is not None:
            place = Place(span, at=Dim.of(at))
        rows = Place(span, index=self.row, given=Text.plain(f"range({height})"))
        rest = [self.step.places[k] for k in self.rest]
        definition = replace(self.step.definition, name=self.diagonals)
        return Side(definition, body, (place, rows, *rest))

    def _named(self, side: Side, row: str | None, column: str | None) -> Expression:
        """A right side about the entry at its indices, named as the step names them."""
        parts: dict[str, str] = {}
        for k, name in zip(self.along, (row, column), strict=True):
            place = side.places[k]
            if place.index is not None and name is not None:
                shift = f" - {place.shift}" if place.shift else ""
                parts[place.index] = f"{name}{shift}"
        for k in self.rest:
            own, other = side.places[k].index, self.step.places[k].index
            if (own is None) != (other is None):
                fail(f"entries of '{self.name}' have other axes here", side.span)
            if own is not None and other is not None:
                parts[own] = other
        return _put(side.body, parts)

    def _extent(
        self, index: str, axis: int, texts: Sequence[tuple[Side, Expression]]
    ) -> Dim:
        """How many entries the table has along one of its indices."""
        ends: list[Dim] = []
        for side, body in texts:
            own = Index(index, side.span)
            e = Statement(self.session, body, self.names)
            place = side.places[self.along[axis]]
            if place.given is not None:
                self.record.merge(note_range(e, own, place.given))
                high = e.ranges.bounds[own].high
                if not high.terms:
                    return high.const
            ends += [end for _, end in intervals(e, own)]
        least = [x for x in ends if all((y - x).is_nonnegative() for y in ends)]
        if not least:
            entry = self._shown(f"{self.row}=range(1, n)", f"{self.column}=range(1, m)")
            message = f"nothing determines how far '{index}' goes"
            hint = f"say it on the left: {entry} = ..."
            fail(message, self.step.places[self.along[axis]].span, hint=hint)
        return least[0]

    # Entries of the table on the right

    def _taken(
        self, body: Expression, fits: Callable[[int | None, int | None], bool]
    ) -> Expression:
        """Check what a text takes of the table, and count how far back that is."""
        for tree in ast.walk(body.tree):
            if isinstance(tree, ast.Subscript) and is_name(tree.value, self.name):
                back = self._back(body, tree)
                if back is None or not fits(*back):
                    message = f"an entry of '{self.name}' is not one of those before"
                    i, j = self.row, self.column
                    near = [(f"{i} - 1", j), (i, f"{j} - 1"), (f"{i} - 1", f"{j} - 1")]
                    hint = f"such as {', '.join(self._shown(*at) for at in near)}"
                    fail(message, body.span(tree), hint=hint)
                self.lags = max(self.lags, sum(k or 0 for k in back))
        return body

    def _back(
        self, body: Expression, tree: ast.Subscript
    ) -> tuple[int | None, int | None] | None:
        """How many rows and columns back an entry is; None for the first of them."""
        places = places_of(tree)
        if len(places) != len(self.step.places):
            return None
        found: list[int | None] = []
        for k, name in zip(self.along, (self.row, self.column), strict=True):
            e = Statement(self.session, body, self.names)
            for one in (self.row, self.column):
                e.scope[one] = Index(one)
            form = affine_form(e, places[k])
            gap = None if form is None else Form.atom(e.scope[name]) - form
            if gap is None or gap.terms or gap.const.constant is None:
                if form is None or form.terms or form.const != 0:
                    return None
                found.append(None)
            else:
                found.append(int(gap.const.constant))
        row, column = found
        if min(row or 0, column or 0) < 0 or (row or 0) + (column or 0) < 1:
            return None
        return row, column

    def _put_states(self, given: dict[str, Expression]) -> None:
        """Put entries of the diagonals in the place of those of the table."""
        for key, body in given.items():
            tree = _Entries(self, body).visit(deepcopy(body.tree))
            given[key] = replace(body, tree=tree)

    def state(self, body: Expression, tree: ast.Subscript) -> ast.Subscript:
        """The entry of a diagonal that is an entry of the table."""
        back = self._back(body, tree)
        assert back is not None
        row, column = back
        places = places_of(tree)
        diagonal = f"{self.diagonal} + {self.lags - 1 - (row or 0) - (column or 0)}"
        at = "0" if row is None else f"{self.row} - {row}"
        rest: list[ast.expr] = [places[k] for k in self.rest]
        parts = [parsed(diagonal, tree), parsed(at, tree), *rest]
        name = ast.copy_location(ast.Name(self.diagonals, ast.Load()), tree)
        return with_places(tree, name, parts)

    def _joined(
        self, text: str, given: Mapping[str, Expression], width: str
    ) -> Expression:
        """One expression of several, whose texts stand one below the other."""
        place = next(iter(given.values())).tree
        tree = parsed(text.replace("M_", f"({width})"), place)
        value, positions, lines = "", list[int](), 0
        parts: dict[str, ast.expr | str] = {}
        source = self.step.body.text.source
        for key, body in given.items():
            parts[key] = ast.increment_lineno(deepcopy(body.tree), lines)
            value += body.text.value + "\n"
            positions += body.text.positions
            lines = value.count("\n")
        whole = Text(value[:-1], source, tuple(positions))
        return Expression(whole, with_parts(tree, parts))

    # What comes of it

    def made(self, diagonals: Array, record: Record) -> Made:
        """Return the table, of its diagonals."""
        self.record.merge(record)
        i, j = self.row, self.column
        rest = [":"] * len(self.rest)
        entry = ", ".join([f"{i} + {j} + {self.lags - 1}", i, *rest])
        tree = parsed(f"{self.diagonals}[{entry}]", self.step.body.tree)
        known = {self.diagonals: Thing("a local definition", diagonals)}
        body, names = replace(self.step.body, tree=tree), self.names.knowing(known)
        e = Statement(self.session, body, names)
        left = [Index(name, self.step.span, True) for name in (i, j)]
        for index, size in zip(left, self.shape, strict=True):
            e.ranges.bounds[index] = Bounds(Form.constant(0), Form.constant(size))
        value = e.elaborate(left)
        if value is None:
            raise Noted
        self.record.merge(e.record)
        axes = [0] * value.order
        for axis, place in enumerate((*self.along, *self.rest)):
            axes[axis] = place
        for axis in range(len(self.step.places), value.order):
            axes[axis] = axis
        node = self.session.graph.product(
            range(value.order), [(value.node, tuple(axes))]
        )
        self.session.graph.name(node, self.name)
        return {self.name: (Array(node), self.record)}


class _Entries(ast.NodeTransformer):
    """Puts entries of diagonals in the place of entries of a table."""

    def __init__(self, table: Table, body: Expression) -> None:
        self.table, self.body = table, body

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if is_name(node.value, self.table.name):
            node = self.table.state(self.body, node)
        self.generic_visit(node)
        return node


def _put(body: Expression, parts: Mapping[str, str]) -> Expression:
    return replace(body, tree=with_parts(body.tree, parts))
