"""Source of the classes by which generated functions solve systems of few entries.

Where SciPy is missing they raise its ImportError; both see to the dtype of what they
return. A singular matrix has the determinant 0, and only solving raises.
"""

from tensorgen.operators.special_helpers import SPECIAL

_SPARSE = '''
class _Sparse:
    """A square matrix of few entries, eliminated once; needs {scipy}.

    Entries are given as rows, columns and values that broadcast against each other.
    Those of the same place add up; what lies outside of the matrix is left out.
    """

    def __init__(self, size: int, *entries: Any) -> None:
        from {scipy}.sparse import csc_matrix
        from {scipy}.sparse.linalg import splu
        {elimination}
        parts = [np.broadcast_arrays(*map(np.asarray, part)) for part in entries]
        rows, columns, values = (
            np.concatenate([part[k].ravel() for part in parts]) for k in range(3)
        )
        inside = (rows >= 0) & (rows < size) & (columns >= 0) & (columns < size)
        at = rows[inside], columns[inside]
        matrix = csc_matrix((values[inside], at), shape=(size, size))
        self._size, self._dtype = size, values.dtype
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

    @property
    def logdet(self) -> Scalar:
        """The logarithm of the absolute value of the determinant."""
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

SPARSE = _SPARSE.format(scipy="scipy", elimination="").replace("        \n", "\n")
CUPY_SPARSE = _SPARSE.format(
    scipy="cupyx.scipy",
    elimination="import scipy  # noqa: F401 - cupyx eliminates with it, on the host\n",
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
        self._solver = getattr(lapack, letter + "gbtrs")
        # As LAPACK has it: entry (i, j) in column j, below rows that pivoting fills.
        table = np.zeros((2 * self._below + self._above + 1, size), dtype)
        for s, band in bands.items():
            if abs(s) < size:
                row = table[self._below + self._above - s]
                row[max(s, 0) : size + min(s, 0)] = band
        self._factors, self._rows, self._failed = table, np.arange(size), 0
        if size:
            eliminate = getattr(lapack, letter + "gbtrf")
            found = eliminate(table, self._below, self._above, overwrite_ab=True)
            self._factors, self._rows, self._failed = found

    def solve(self, b: Array, transposed: bool = False) -> Array:
        """Solve for one or several right-hand sides."""
        if not b.size:
            return b.copy()
        if self._failed:
            raise np.linalg.LinAlgError("Singular matrix")
        sides = self._factors, self._below, self._above, b, self._rows
        x, _ = self._solver(*sides, trans=int(transposed))
        return x.reshape(b.shape)

    @property
    def logdet(self) -> Scalar:
        """The logarithm of the absolute value of the determinant."""
        with np.errstate(divide="ignore"):
            return np.log(abs(self._factors[self._below + self._above])).sum()

    @property
    def det(self) -> Scalar:
        """The determinant."""
        moved = int((self._rows != np.arange(len(self._rows))).sum())
        return (-1) ** moved * self._factors[self._below + self._above].prod()
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

IMPORTS = {
    "_Sparse": ("scipy.sparse",),
    "_Banded": ("scipy.linalg",),
    **dict.fromkeys(SPECIAL, ("scipy.special",)),
}
"""The modules that helpers import where they are made or called."""
