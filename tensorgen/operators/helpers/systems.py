"""Source of the classes by which generated functions solve systems of few entries.

Where SciPy is missing they raise its ImportError; both see to the dtype of what they
return. A singular matrix has the determinant 0, and only solving raises.
"""

from tensorgen.operators.helpers.special import SPECIAL

_SPARSE = '''
class _Sparse:
    """A square matrix of few entries, eliminated once; needs {scipy}.

    Entries are given as rows, columns and values that broadcast against each other.
    Duplicates are summed; entries outside the matrix are ignored.
    """

    def __init__(self, size: int, *entries: Any) -> None:
        {elimination}from {scipy}.sparse import csc_matrix
        from {scipy}.sparse.linalg import splu

        parts = [np.broadcast_arrays(*map(np.asarray, part)) for part in entries]
        rows, columns, values = (
            np.concatenate([part[k].ravel() for part in parts]) for k in range(3)
        )
        inside = (rows >= 0) & (rows < size) & (columns >= 0) & (columns < size)
        self._at = at = rows[inside], columns[inside]
        matrix = csc_matrix((values[inside], at), shape=(size, size))
        self._size, self._dtype = size, values.dtype
        self._inverse: Any = None
        # Pivots off the diagonal ruin the order, where the diagonal does without them.
        regular = bool((matrix.diagonal() > 0).all())
        order, pivots = ("MMD_AT_PLUS_A", 0.1) if regular else ("COLAMD", 1.0)
        self._factors: Any = None
        try:
            if size:
                self._factors = splu(matrix, permc_spec=order, diag_pivot_thresh=pivots)
        except RuntimeError:
            pass  # it is singular

    def solve(self, b: Array, transposed: bool = False) -> Array:
        """Solve for one or several right-hand sides."""
        if not b.size:
            return b.copy()
        if self._factors is None:
            raise np.linalg.LinAlgError("Singular matrix")
        return self._factors.solve(b.astype(self._dtype), "T" if transposed else "N")

    def inverse_at(self, rows: Array, columns: Array) -> Array:
        """Entries of the inverse: all where the matrix has some are solved for once."""
        rows, columns = np.broadcast_arrays(rows, columns)
        if self._inverse is None:
            i, j = (np.asarray(at, dtype=np.int64) for at in self._at)
            keys = np.concatenate([i + j * self._size, j + i * self._size])
            keys = np.unique(keys)
            self._inverse = keys, self._columns(keys % self._size, keys // self._size)
        keys, values = self._inverse
        wanted = rows + columns.astype(np.int64) * self._size
        found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        if len(keys) and bool((keys[found] == wanted).all()):
            return values[found]
        return self._columns(rows.ravel(), columns.ravel()).reshape(rows.shape)

    def _columns(self, rows: Array, columns: Array) -> Array:
        """Entries of the inverse, by so few columns at a time that they are small."""
        order, width = np.argsort(columns), 64
        rows, columns = rows[order], columns[order]
        values = np.empty(len(order), self._dtype)
        for first in range(0, self._size, width):
            ends = np.searchsorted(columns, np.asarray([first, first + width]))
            start, stop = ends.tolist()
            if start < stop:
                unit = np.eye(self._size, min(width, self._size - first), -first)
                at = rows[start:stop], columns[start:stop] - first
                values[order[start:stop]] = self.solve(unit)[at]
        return values

    @property
    def logdet(self) -> Scalar:
        """The logarithm of the absolute value of the determinant."""
        if self._size and self._factors is None:
            return np.asarray(-np.inf, dtype=self._dtype)[()]
        return np.log(abs(self._pivots())).sum()

    @property
    def det(self) -> Scalar:
        """The determinant."""
        pivots = self._pivots()
        sign = 1 if self._factors is None else self._sign()
        return sign * pivots.prod()

    def _pivots(self) -> Array:
        if self._factors is None:
            return np.zeros(min(self._size, 1), self._dtype)
        return self._factors.U.diagonal()

    def _sign(self) -> int:
        """The sign of both permutations: whether an odd number of pairs is swapped."""
        sign = 1
        for order in (self._factors.perm_r, self._factors.perm_c):
            seen = [False] * self._size
            order = order.tolist()
            for first in range(self._size):
                at, length = first, 0
                while not seen[at]:
                    seen[at], at, length = True, order[at], length + 1
                sign = -sign if length and length % 2 == 0 else sign
        return sign
'''

SPARSE = _SPARSE.format(scipy="scipy", elimination="")
CUPY_SPARSE = _SPARSE.format(
    scipy="cupyx.scipy",
    elimination="""\
import scipy  # noqa: F401 - cupyx eliminates with it, on the host
        """,
)

BANDED = '''
class _Banded:
    """A square matrix of few diagonals, eliminated once: O(n p^2); needs SciPy.

    `bands` maps an offset s to the entries in row i and column i + s, in order, or to
    one number for all of them.
    """

    def __init__(self, size: int, bands: dict[int, Any], dtype: Any = None) -> None:
        from scipy.linalg import lapack

        self._below, self._above = max(0, -min(bands)), max(0, max(bands))
        dtype = dtype or np.result_type(*bands.values())
        letter = "s" if dtype == np.float32 else "d"
        # As LAPACK has it: entry (i, j) in column j, below rows that pivoting fills.
        self._top = self._above and self._below + self._above
        table = np.zeros((self._top + self._below + 1, size), dtype, order="F")
        for s, band in bands.items():
            if abs(s) < size:
                table[self._top - s, max(s, 0) : size + min(s, 0)] = band
        self._table = table
        self._inverse: Any = None
        self._factors, self._rows, self._uplo = table, None, "U" if self._above else "L"
        if self._below and self._above and size:
            eliminate = getattr(lapack, letter + "gbtrf")
            found = eliminate(table, self._below, self._above)
            self._factors, self._rows, self._failed = found
            self._solver = getattr(lapack, letter + "gbtrs")
        else:  # it is a triangle
            first = bands.get(0, 0)
            number = np.ndim(first) == 0
            self._failed = not (first if number else first.all())
            self._diag = "U" if number and first == 1 else "N"
            self._solver = getattr(lapack, letter + "tbtrs")

    def solve(self, b: Array, transposed: bool = False) -> Array:
        """Solve for one or several right-hand sides."""
        if not b.size:
            return b.copy()
        if self._failed:
            raise np.linalg.LinAlgError("Singular matrix")
        if self._rows is None:
            way = self._uplo, "T" if transposed else "N", self._diag
            x, _ = self._solver(self._factors, b.reshape(len(b), -1), *way)
        else:
            sides = self._factors, self._below, self._above, b, self._rows
            x, _ = self._solver(*sides, trans=int(transposed))
        return x.reshape(b.shape)

    def inverse_at(self, rows: Array, columns: Array) -> Array:
        """Entries of the inverse near the diagonal: O(n w^2), w from it."""
        rows, columns = np.broadcast_arrays(rows, columns)
        if not rows.size:
            return np.zeros(rows.shape, self._table.dtype)
        if self._failed:
            raise np.linalg.LinAlgError("Singular matrix")
        reach = max(self._below, self._above, int(abs(rows - columns).max()))
        if self._inverse is None or len(self._inverse) < 2 * reach + 1:
            n, moved = self._table.shape[1], self._rows
            still = moved is None or bool((moved == np.arange(n)).all())
            by_factors = still and reach <= 4  # more has too many zeros
            way = self._near_by_factors if by_factors else self._near_by_blocks
            self._inverse = way(reach)
        band = self._inverse
        return band[len(band) // 2 + rows - columns, columns]

    def _near_by_factors(self, w: int) -> Array:
        """The inverse Z near the diagonal by LU (Takahashi et al. 1973).

        U Z is lower and Z L upper triangular: these are equations for row
        and column m, given those below m. All together form one triangular band.
        """
        from scipy.linalg import lapack

        n, top, group = self._table.shape[1], self._top, 2 * w + 1
        lower, upper = np.zeros((2, w + 1, n), self._table.dtype)
        lower[: self._below + 1] = self._factors[top : top + self._below + 1]
        for q in range(self._above + 1):
            upper[q, : n - q] = self._factors[top - q, q:]
        if self._rows is None:
            lower[1:] /= upper[0]
        upper[1:] /= upper[0]
        # Below m come the entries of column m, then those of row m, and the diagonal.
        slot = {k: k - 1 if k > 0 else w - k - 1 for k in range(-w, w + 1)}
        slot[0] = 2 * w
        equations = np.zeros(((w + 1) * group, n, group), self._table.dtype)

        def put(own: int, m: int, other: int, values: Array) -> None:
            """Set the coefficients of `other`, m rows on, in the equation of `own`."""
            away = m * group + slot[own] - slot[other]
            equations[away, : n - m, slot[other]] = values[: n - m][::-1]

        for q in range(1, w + 1):
            put(0, 0, q, upper[q])
            for k in range(1, w + 1):
                put(k, min(q, k), k - q, lower[q])
                put(-k, min(q, k), q - k, upper[q])
        right = np.zeros((n, group), self._table.dtype)
        right[:, 2 * w] = 1 / upper[0][::-1]
        letter = "s" if self._table.dtype == np.float32 else "d"
        table = equations.reshape(len(equations), -1)
        solve = getattr(lapack, letter + "tbtrs")
        found, _ = solve(table, right.reshape(-1, 1), uplo="L", diag="U")
        found = found.reshape(n, group)[::-1]
        band = np.zeros((group, n), self._table.dtype)
        for k in range(w + 1):
            band[w + k] = found[:, slot[k]]
            band[w - k, k:] = found[: n - k, slot[-k]]
        return band

    def _near_by_blocks(self, w: int) -> Array:
        """The same by orthogonal elimination of blocks, stable for all pivots.

        Step k turns the rows of blocks k and k + 1 by Q.T. Of what is left, H is the
        first block of the inverse; the blocks beside it follow from those after it.
        """
        n, top, b = self._table.shape[1], self._top, max(w, 16)
        count = -(-n // b)
        # Rows of a block have the columns of the one before it to the one after it.
        rows = np.zeros((count, b, 3 * b), self._table.dtype)
        i = np.arange(count * b)
        rows[i // b, i % b, i % b + b] = i >= n
        for s in range(-self._below, self._above + 1):
            i = np.arange(max(-s, 0), n - max(s, 0))
            rows[i // b, i % b, i % b + b + s] = self._table[top - s, i + s]
        left, turns = rows[0, :, b:], []
        for below in rows[1:]:
            q, r = np.linalg.qr(np.vstack([left[:, :b], below[:, :b]]), "complete")
            rest = np.zeros((2 * b, 2 * b), rows.dtype)
            rest[:b, :b], rest[b:] = left[:, b:], below[:, b:]
            rest = q.T @ rest
            turns.append((q.T, r[:b], rest[:b]))
            left = rest[b:]
        found = np.zeros_like(rows)
        h, under = np.linalg.inv(left[:, :b]), np.zeros((b, b), rows.dtype)
        found[-1, :, b : 2 * b] = h
        for k in range(count - 2, -1, -1):
            turned, r, rest = turns[k]
            within = rest[:, :b] @ h + rest[:, b:] @ under
            found[k + 1, :, : 2 * b] = h @ turned[b:]
            under = found[k + 1, :, :b].copy()
            if k:
                found[k + 1, :, :b] = under @ turns[k - 1][0][b:, b:]
            first = np.linalg.solve(r, turned[:b] - within @ turned[b:])
            h = first[:, :b]
            found[k, :, b:] = first
        band = np.zeros((2 * w + 1, n), rows.dtype)
        for s in range(-w, w + 1):
            i = np.arange(max(-s, 0), n - max(s, 0))
            band[w - s, i + s] = found[i // b, i % b, i % b + b + s]
        return band

    @property
    def logdet(self) -> Scalar:
        """The logarithm of the absolute value of the determinant."""
        with np.errstate(divide="ignore"):
            return np.log(abs(self._factors[self._top])).sum()

    @property
    def det(self) -> Scalar:
        """The determinant."""
        found = self._factors[self._top].prod()
        if self._rows is None:
            return found
        moved = int((self._rows != np.arange(len(self._rows))).sum())
        return (-1) ** moved * found
'''

CUPY_BANDED = '''
class _Banded(_Sparse):
    """A square matrix of few diagonals, by sparse elimination; needs cupyx.scipy.

    `bands` maps an offset s to the entries in row i and column i + s, in order, or to
    one number for all of them.
    """

    def __init__(self, size: int, bands: dict[int, Any], dtype: Any = None) -> None:
        dtype = dtype or np.result_type(*bands.values())
        entries = []
        for s, band in bands.items():
            i = np.arange(size - abs(s))
            value = np.asarray(band, dtype=dtype)
            entries.append((i + max(-s, 0), i + max(s, 0), value))
        super().__init__(size, *entries)
'''

_TOEPLITZ = '''
class _Toeplitz:
    """A positive definite matrix of equal diagonals: O(n^2); needs SciPy{where}.

    Durbin's recursion gives the pivots, and the first column of the inverse, from
    which its other entries follow (Trench 1964).
    """

    def __init__(self, column: Array) -> None:
        self._dtype, pivots = column.dtype, list[float]()
        self._column = {host}.astype(float)
        column, weights = self._column, self._column.copy()  # k - 1 of them in step k
        for k, pivot in enumerate(column.tolist()):
            if k:
                known = weights[: k - 1]
                last = -float(column[k] + known @ column[k - 1 : 0 : -1]) / pivots[-1]
                weights[: k - 1] = known + last * known[::-1]
                weights[k - 1] = last
                pivot = pivots[-1] * (1 - last) * (1 + last)
            if not pivot > 0:
                raise np.linalg.LinAlgError("Matrix is not positive definite")
            pivots.append(pivot)
        first = np.ones(len(column))
        first[1:] = np.asarray(weights[: max(len(column) - 1, 0)])
        self._pivots = np.asarray(pivots, dtype=first.dtype)
        self._first = first / self._pivots[-1:]

    def solve(self, b: Array, transposed: bool = False) -> Array:
        """Solve for one or several right-hand sides."""
        from scipy.linalg import solve_toeplitz

        if not b.size:
            return b.copy()
        return self._of(solve_toeplitz(self._column, {b}, check_finite=False))

    @property
    def inverse(self) -> Array:
        """All of the inverse, row by row."""
        x, y = self._first, np.zeros_like(self._first)
        y[1:] = x[:0:-1]
        found = np.empty((len(x), len(x)))
        found[:1] = x
        for i in range(1, len(x)):
            found[i, 0] = x[i]
            change = (x[i] * x[1:] - y[i] * y[1:]) / x[0]
            np.add(found[i - 1, :-1], change, out=found[i, 1:])
        return self._of(found)

    def inverse_at(self, rows: Array, columns: Array) -> Array:
        """Entries of the inverse."""
        return self.inverse[rows, columns]

    @property
    def logdet(self) -> Scalar:
        """The logarithm of the determinant."""
        return self._of(np.log(self._pivots).sum())

    @property
    def det(self) -> Scalar:
        """The determinant."""
        return self._of(self._pivots.prod())

    def _of(self, found: Any) -> Any:
        return np.asarray(found, dtype=self._dtype)[()]
'''

TOEPLITZ = _TOEPLITZ.format(where="", host="column", b="b")
CUPY_TOEPLITZ = _TOEPLITZ.format(
    where=", on the host", host="column.get()", b="b.get()"
)

IMPORTS = {
    "_Toeplitz": ("scipy.linalg",),
    "_Sparse": ("scipy.sparse",),
    "_Banded": ("scipy.linalg",),
    "_filtered": ("scipy.signal",),
    **dict.fromkeys(SPECIAL, ("scipy.special",)),
}
"""The modules that helpers import where they are made or called."""
