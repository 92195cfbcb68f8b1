"""Products, sums, inverses and traces of matrix expressions, in normal form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from tensorgen.ir.dims import Dim
from tensorgen.operators.matrix_terms import (
    ONCE,
    Applied,
    Dims,
    Entrywise,
    Expression,
    Power,
    Row,
    Spread,
    Symbol,
    Term,
    Terms,
    Turned,
    gathered,
    multiplied,
    parts_of,
    raised,
    scaled,
    term,
    turned,
    turned_chain,
    turned_inside,
    turns,
    upright,
    without_content,
)

Chain = tuple[Expression, ...]


# Products


def product(factors: Sequence[Expression], dims: Dims) -> Expression:
    """Return the product of a chain, in which rows stand for turned vectors."""
    coefficient, powers, chain = ONCE, list[Power](), list[Expression]()
    for x in factors:
        own = parts_of(without_content(x))
        coefficient *= own.coefficient
        powers += own.powers
        chain += own.factors
    short = without_inverses(tuple(chain))
    if (at := _collapsing(short)) is not None:
        scale = Term(coefficient, tuple(powers), (), ())
        whole = [_whole(x, short[at].dims) for x in _summands(short[at])]
        rows = [product([*short[:at], x, *short[at + 1 :]], dims) for x in whole]
        return added([multiplied(scale, row) for row in rows], dims)
    left, forms = _apart(short)
    powers += [(one, ONCE) for one in forms]
    if dims and not left:
        left = (identity(dims[0]),)
    return term(coefficient, gathered(powers), left, dims)


def _whole(x: Expression, dims: Dims) -> Expression:
    """What is added to a matrix, as one: the same in all rows, or columns, or both."""
    match x:
        case Spread(vector=vector, axis=axis):
            sides = [vector, ones(dims[1])] if axis == 0 else [ones(dims[0]), vector]
        case _ if not x.dims:
            sides = [ones(dim) for dim in dims]
            return multiplied(x, product([sides[0], Row(sides[1])], dims))
        case _:
            return x
    return product([sides[0], Row(sides[1])], dims)


def ones(dim: Dim) -> Symbol:
    """Return a vector of ones."""
    return Symbol(f"ones({dim})", (dim,))


def _summands(x: Expression) -> tuple[Expression, ...]:
    whole = turned_inside(x.inner) if isinstance(x, Turned) else x
    return whole.terms if isinstance(whole, Terms) else ()


def _collapsing(chain: Chain) -> int | None:
    """Where a sum stands with an outer product in it, of which a vector makes less."""
    for at, x in enumerate(chain):
        outer = any(
            isinstance(y, Row) for own in _summands(x) for y in parts_of(own).factors
        )
        sides = chain[at + 1 :], turned_chain(chain[:at])
        if len(x.dims) == 2 and outer and any(map(_starts_with_column, sides)):
            return at
    return None


def _starts_with_column(chain: Chain) -> bool:
    """Whether the first vector of a chain, if there is one, is no row."""
    vectors = (x for x in chain if isinstance(x, Row) or len(x.dims) == 1)
    first = next(vectors, None)
    return first is not None and not isinstance(first, Row)


def identity(dim: Dim) -> Symbol:
    """Return the identity matrix."""
    return Symbol(f"eye({dim})", (dim, dim), is_symmetric=True)


def _is_identity(x: Expression) -> bool:
    return isinstance(x, Symbol) and len(x.dims) == 2 and x == identity(x.dims[0])


def _apart(chain: Chain) -> tuple[Chain, list[Expression]]:
    """Return what is left of a chain without the scalars in it, and these."""
    left: list[Expression] = []
    forms: list[Expression] = []
    start: int | None = None
    for x in chain:
        left.append(x)
        if isinstance(x, Row):
            start = len(left) - 1
        elif len(x.dims) == 1 and start is not None:
            forms.append(form(tuple(left[start:])))
            del left[start:]
            start = None
    several = len(left) > 1
    return tuple(x for x in left if not (several and _is_identity(x))), forms


def form(chain: Chain) -> Expression:
    """Return the scalar from a row to a column, read in the better direction."""
    middle = tuple(x for x in chain if not _is_identity(x))
    first, last = turned_chain(middle[:1])[0], middle[-1]
    if len(middle) == 2 and ones(last.dims[0]) in (first, last):
        return total(first if last == ones(last.dims[0]) else last)
    return Term(ONCE, (), _better(middle, turned_chain(middle)), ())


def _better(*chains: Chain) -> Chain:
    """The first with the fewest transposes."""
    return min(chains, key=lambda own: sum(map(turns, own)))


# Inverses


def inverse(x: Expression) -> Expression:
    """Return the inverse of a matrix: scalars stand outside, and transposes."""
    own = parts_of(without_content(x))
    bare = term(ONCE, (), own.factors, own.dims)
    if own.coefficient == 0:
        own, bare = parts_of(x), x
    elif bare != x:
        scale = raised(Term(own.coefficient, own.powers, (), ()), Fraction(-1))
        return multiplied(scale, inverse(bare))
    if _is_identity(x):
        return x
    if (inner := _inverted(x)) is not None:
        return inner
    better, is_turned = upright(x)
    is_symmetric = turned(better) == better
    return Applied("inv", (better,), x.dims, is_symmetric, is_turned)


def _inverted(x: Expression) -> Expression | None:
    """What a matrix is the inverse of."""
    if isinstance(x, Applied) and x.function == "inv":
        return turned(x.args[0]) if x.is_turned else x.args[0]
    return None


def without_inverses(chain: Chain) -> Chain:
    """Return a chain in which no inverse meets what it undoes."""
    for at, x in enumerate(chain):
        inner = _inverted(x)
        if inner is None:
            continue
        inside = parts_of(inner).factors
        # M @ inv(C @ M) is inv(C), and so is inv(M @ C) @ M.
        before, after = chain[:at], chain[at + 1 :]
        for count in range(len(inside), 0, -1):
            if before[-count:] == inside[-count:] and _is_square(inside[-count:]):
                return without_inverses(
                    (*before[:-count], *_inverse_of(inside[:-count]), *after)
                )
            if after[:count] == inside[:count] and _is_square(inside[:count]):
                return without_inverses(
                    (*before, *_inverse_of(inside[count:]), *after[count:])
                )
    return chain


def _is_square(chain: Chain) -> bool:
    ends = chain[0].dims, chain[-1].dims
    return all(len(dims) == 2 for dims in ends) and ends[0][0] == ends[1][1]


def _inverse_of(chain: Chain) -> Chain:
    if not chain:
        return ()
    dim = chain[0].dims[0]
    return parts_of(inverse(product(chain, (dim, dim)))).factors


# Sums


def added(terms: Sequence[Expression], dims: Dims) -> Expression:
    """Return a sum, like terms merged and those that differ by a transpose."""
    rows = [own for x in terms for own in _terms(x)]
    totals: dict[Term, Fraction] = {}
    for row in rows:
        base = Term(ONCE, row.powers, row.factors, row.dims)
        totals[base] = totals.get(base, Fraction(0)) + row.coefficient
    left = [Term(c, x.powers, x.factors, x.dims) for x, c in totals.items() if c]
    left = _symmetrized(left) or [Term(Fraction(0), (), (), dims)]
    found = [term(x.coefficient, x.powers, x.factors, x.dims) for x in left]
    is_alone = len(found) == 1 and found[0].dims == dims
    return found[0] if is_alone else Terms(tuple(found), dims)


def _terms(x: Expression) -> Iterator[Term]:
    """The terms of what is added, those of a sum by themselves."""
    own = parts_of(x)
    inside = [*own.factors, *(base for base, e in own.powers if e == 1)]
    count = len(own.factors) + len(own.powers)
    summands = _summands(inside[0]) if len(inside) == count == 1 else ()
    if summands and abs(own.coefficient) == 1:
        yield from (parts_of(scaled(own.coefficient, y)) for y in summands)
    else:
        yield own


def _symmetrized(rows: Sequence[Term]) -> list[Term]:
    """Write `P @ M @ Q + P @ M.T @ Q` as `P @ (M + M.T) @ Q`."""
    left = list(rows)
    found: list[Term] = []
    while left:
        first = left.pop(0)
        for other in left:
            if (both := _with_both(first, other)) is not None:
                left.remove(other)
                first = both
                break
        found.append(first)
    return found


def _with_both(one: Term, other: Term) -> Term | None:
    """Two terms as one, if they differ by a transpose in the midst of their chains."""
    a, b = one.factors, other.factors
    same = (one.coefficient, frozenset(one.powers), len(a)) == (
        *(other.coefficient, frozenset(other.powers)),
        len(b),
    )
    if not same or one.dims != other.dims:
        return None
    start = next((k for k in range(len(a)) if a[k] != b[k]), len(a))
    end = next((k for k in range(len(a), start, -1) if a[k - 1] != b[k - 1]), start)
    middle, mirrored = a[start:end], b[start:end]
    is_part = 0 < len(middle) < len(a)
    if not is_part or middle != turned_chain(mirrored) or not _is_whole(middle):
        return None
    whole, other_whole = (
        product(own, _ends(own)) for own in sorted((middle, mirrored), key=_turns)
    )
    dims = _ends(middle)
    factors = (*a[:start], Terms((whole, other_whole), dims), *a[end:])
    return Term(one.coefficient, one.powers, factors, one.dims)


def _turns(chain: Chain) -> int:
    return sum(map(turns, chain))


def _ends(chain: Chain) -> Dims:
    """The rows and the columns of a chain between its neighbours."""
    last = chain[-1].vector if isinstance(chain[-1], Row) else chain[-1]
    return chain[0].dims[0], last.dims[-1]


def _is_whole(chain: Chain) -> bool:
    """Whether a chain is a matrix, whose columns all have their rows."""
    order = 0
    for x in chain:
        if isinstance(x, Row):
            order -= 1
        elif len(x.dims) == 1:
            order += 1
        if order not in (0, 1):
            return False
    return order == 0


# Numbers of vectors and matrices


def dot(left: Expression, right: Expression) -> Expression:
    """Return the inner product of two vectors."""
    return product([Row(left), right], ())


def trace(x: Expression) -> Expression:
    """Return the trace of a matrix, read from where it has the fewest transposes."""
    own = parts_of(without_content(x))
    scale = Term(own.coefficient, own.powers, (), ())
    return multiplied(scale, _trace(own.factors))


def _trace(chain: Chain) -> Expression:
    ring = without_inverses(chain)
    for at, x in enumerate(ring):
        if isinstance(x, Row):  # the trace of a column times a row
            return product([*ring[at:], *ring[:at]], ())
    if not ring:
        return Applied("trace", (identity(chain[0].dims[0]),), ())
    best = _better(*_rotations(ring), *_rotations(turned_chain(ring)))
    dim = best[0].dims[0]
    return Applied("trace", (product(best, (dim, dim)),), ())


def _rotations(chain: Chain) -> Iterator[Chain]:
    for k in range(len(chain)):
        yield (*chain[k:], *chain[:k])


def total(x: Expression) -> Expression:
    """Return the sum of all entries."""
    own = parts_of(without_content(x))
    scale = Term(own.coefficient, own.powers, (), ())
    return multiplied(scale, _total(term(ONCE, (), own.factors, own.dims)))


def _total(x: Expression) -> Expression:
    if isinstance(x, Applied) and x.function == "diag":
        return trace(x.args[0])
    if not isinstance(x, Entrywise) or any(e not in (1, 2) for _, e in x.powers):
        return Applied("sum", (x,), ())
    factors = [base for base, e in x.powers for _ in range(int(e))]
    if len(factors) != 2:
        return Applied("sum", (x,), ())
    first, second = factors
    if first == second and isinstance(first, Terms):
        return Applied("sum", (x,), ())
    if len(x.dims) == 1:
        is_simple = isinstance(second, Symbol) and not isinstance(first, Symbol)
        return dot(second, first) if is_simple else dot(first, second)
    found = trace(product([turned(first), second], (x.dims[1], x.dims[1])))
    is_elementwise = first == second or turns(found) > turns(x)
    if is_elementwise or not any(isinstance(y, Term) or turns(y) for y in factors):
        return Applied("sum", (x,), ())
    return found
