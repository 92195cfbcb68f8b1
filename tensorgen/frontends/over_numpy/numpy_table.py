"""The table of functions that are read: how NumPy and SciPy call them, what they are.

A row is NumPy's signature and the expression of the language that it stands for. An
argument that is marked by `!` is refused, a default apart. `axis=` on the right is
written where it is given. A function that depends on more than its arguments' texts
has a row in `numpy_calls` instead.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


_UNARY = """
    exp expm1 log log1p log2 log10 sqrt cbrt sin cos tan arcsin arccos arctan sinh cosh
    tanh asinh=arcsinh acosh=arccosh atanh=arctanh abs=absolute abs abs=fabs sign floor
    ceil round=rint square isnan i0 asin acos atan asinh acosh atanh
    """
_BINARY = """
    atan2=arctan2 hypot logaddexp maximum minimum atan2
    """
_REDUCING = "a, axis, dtype!, out!, keepdims, initial!, where!"
_EXTREME = "a, axis, out!, keepdims, initial!, where!"
_SPREAD = "a, axis, dtype!, out!, ddof, keepdims, where!"
_NUMPY = {
    "sum": f"{_REDUCING} -> sum(a, axis=, keepdims=)",
    "mean": "a, axis, dtype!, out!, keepdims, where! -> mean(a, axis=, keepdims=)",
    "prod": f"{_REDUCING} -> prod(a, axis=, keepdims=)",
    "max": f"{_EXTREME} -> max(a, axis=, keepdims=)",
    "amax": f"{_EXTREME} -> max(a, axis=, keepdims=)",
    "min": f"{_EXTREME} -> min(a, axis=, keepdims=)",
    "amin": f"{_EXTREME} -> min(a, axis=, keepdims=)",
    "var": f"{_SPREAD} -> var(a, axis=, keepdims=, ddof=)",
    "std": f"{_SPREAD} -> std(a, axis=, keepdims=, ddof=)",
    "median": "a, axis, out!, overwrite_input!, keepdims -> "
    "median(a, axis=, keepdims=)",
    "ptp": "a, axis, out!, keepdims -> "
    "max(a, axis=, keepdims=) - min(a, axis=, keepdims=)",
    "count_nonzero": "a, axis, keepdims -> sum(a != 0, axis=, keepdims=)",
    "exp2": "x, out!, where!, dtype! -> 2**x",
    "reciprocal": "x, out!, where!, dtype! -> 1 / x",
    "negative": "x, out!, where!, dtype! -> -x",
    "positive": "x, out!, where!, dtype! -> x",
    "logical_not": "x, out!, where!, dtype! -> ~x",
    "deg2rad": "x, out!, where!, dtype! -> x * (pi / 180)",
    "radians": "x, out!, where!, dtype! -> x * (pi / 180)",
    "rad2deg": "x, out!, where!, dtype! -> x * (180 / pi)",
    "degrees": "x, out!, where!, dtype! -> x * (180 / pi)",
    "heaviside": "x, h, out!, where!, dtype! -> "
    "where(x > 0, 1, where(x == 0, h, where(x < 0, 0, x)))",
    "vdot": "a, b -> vdot(a, b)",
    "outer": "a, b, out! -> outer(a, b)",
    "kron": "a, b -> kron(a, b)",
    "cross": "a, b, axisa!, axisb!, axisc!, axis! -> cross(a, b)",
    "tensordot": "a, b, axes -> tensordot(a, b, axes=)",
    "trace": "a, offset!, axis1!, axis2!, dtype!, out! -> trace(a)",
    "diag": "v, k -> diag(v, k=)",
    "diagonal": "a, offset, axis1, axis2 -> diagonal(a, offset=, axis1=, axis2=)",
    "tril": "m, k -> tril(m, k=)",
    "triu": "m, k -> triu(m, k=)",
    "identity": "n, dtype! -> eye(n)",
    "expand_dims": "a, axis -> expand_dims(a, axis=)",
    "squeeze": "a, axis -> squeeze(a, axis=)",
    "ravel": "a, order! -> ravel(a)",
    "flatten": "a, order! -> ravel(a)",
    "broadcast_to": "array, shape, subok! -> broadcast_to(array, shape)",
    "concatenate": "arrays, axis, out!, dtype!, casting! -> concatenate(arrays, axis=)",
    "stack": "arrays, axis, out!, dtype!, casting! -> stack(arrays, axis=)",
    "flip": "m, axis -> flip(m, axis=)",
    "flipud": "m -> flip(m, axis=0)",
    "fliplr": "m -> flip(m, axis=1)",
    "diff": "a, n, axis, prepend!, append! -> diff(a, k=n, axis=)",
    "repeat": "a, repeats, axis -> repeat(a, repeats, axis=)",
    "convolve": "a, v, mode -> convolve(a, v, mode=)",
    "correlate": "a, v, mode -> correlate(a, v, mode=)",
    "interp": "x, xp, fp, left!, right!, period! -> interp(x, xp, fp)",
    "take_along_axis": "arr, indices, axis -> take_along_axis(arr, indices, axis=)",
}
_LINALG = {
    "inv": "a, overwrite_a!, check_finite -> inv(a)",
    "det": "a, overwrite_a!, check_finite -> det(a)",
    "pinv": "a, rcond!, hermitian!, rtol! -> pinv(a)",
    "matrix_power": "a, n -> matrix_power(a, n)",
    "eigvalsh": "a, UPLO! -> eigvalsh(a)",
    "expm": "A -> expm(A)",
    "toeplitz": "c, r -> toeplitz(c, r=)",
}
_SPECIAL = {
    "expit": "x, out! -> sigmoid(x)",
    "log_expit": "x, out! -> log_sigmoid(x)",
    "softplus": "x, out! -> softplus(x)",
    "logit": "x, out! -> logit(x)",
    "gammaln": "x, out! -> lgamma(x)",
    "digamma": "x, out! -> digamma(x)",
    "psi": "x, out! -> digamma(x)",
    "polygamma": "n, x -> polygamma(n, x)",
    "betaln": "a, b, out! -> betaln(a, b)",
    "gammainc": "a, x, out! -> gammainc(a, x)",
    "betainc": "a, b, x, out! -> betainc(a, b, x)",
    "erf": "z, out! -> erf(z)",
    "erfc": "x, out! -> erfc(x)",
    "ndtr": "x, out! -> ndtr(x)",
    "log_ndtr": "x, out! -> log_ndtr(x)",
    "ndtri": "y, out! -> ndtri(y)",
    "i0": "x, out! -> i0(x)",
    "i1": "x, out! -> i1(x)",
    "i0e": "x, out! -> i0e(x)",
    "i1e": "x, out! -> i1e(x)",
    "exprel": "x, out! -> exprel(x)",
    "cbrt": "x, out! -> cbrt(x)",
    "exp2": "x, out! -> 2**x",
    "expm1": "x, out! -> expm1(x)",
    "log1p": "x, out! -> log1p(x)",
    "xlogy": "x, y, out! -> xlogy(x, y)",
    "xlog1py": "x, y, out! -> xlogy(x, 1 + y)",
    "entr": "x, out! -> where(x < 0, -inf, -xlogy(x, x))",
    "rel_entr": "x, y, out! -> "
    "where((x > 0) & (y > 0), xlogy(x, x / y), where((x == 0) & (y >= 0), 0, inf))",
    "kl_div": "x, y, out! -> where((x > 0) & (y > 0), xlogy(x, x / y) - x + y, "
    "where((x == 0) & (y >= 0), y, inf))",
    "huber": "delta, r, out! -> where(delta < 0, inf, huber(r, delta))",
    "pseudo_huber": "delta, r, out! -> delta**2 * (sqrt(1 + (r / delta)**2) - 1)",
    "softmax": "x, axis -> softmax(x, axis=)",
    "log_softmax": "x, axis -> log_softmax(x, axis=)",
    "logsumexp": "a, axis, b!, keepdims, return_sign! -> "
    "logsumexp(a, axis=, keepdims=)",
}
OPERATORS: dict[str, type[ast.operator] | type[ast.cmpop]] = {
    "add": ast.Add,
    "subtract": ast.Sub,
    "multiply": ast.Mult,
    "divide": ast.Div,
    "true_divide": ast.Div,
    "floor_divide": ast.FloorDiv,
    "mod": ast.Mod,
    "remainder": ast.Mod,
    "power": ast.Pow,
    "float_power": ast.Pow,
    "pow": ast.Pow,
    "matmul": ast.MatMult,
    "logical_and": ast.BitAnd,
    "logical_or": ast.BitOr,
    "greater": ast.Gt,
    "greater_equal": ast.GtE,
    "less": ast.Lt,
    "less_equal": ast.LtE,
    "equal": ast.Eq,
    "not_equal": ast.NotEq,
}
"""Functions of NumPy that are operators."""
PREFIXES = {
    "jax.numpy": "numpy",
    "jax.scipy": "scipy",
    "cupy": "numpy",
    "cupyx.scipy": "scipy",
    "autograd.numpy": "numpy",
    "autograd.scipy": "scipy",
    "math": "numpy",
    "numpy.linalg.linalg": "numpy.linalg",
    "scipy.linalg": "numpy.linalg",
    "scipy.special._ufuncs": "scipy.special",
}
"""What is spelled like NumPy and SciPy, and means the same."""
OF_MATH = {"lgamma": "gammaln", "erf": "erf", "erfc": "erfc"}
"""What Python's mathematics has and NumPy has not."""
NUMBERS = {
    "numpy.pi": "pi",
    "numpy.inf": "inf",
    "numpy.e": "exp(1)",
    "numpy.tau": "(2 * pi)",
    "numpy.euler_gamma": "0.5772156649015329",
}
METHODS = words("""
    sum mean prod max min var std dot trace diagonal ravel flatten reshape transpose
    squeeze clip cumsum cumprod repeat swapaxes copy astype item round ptp take
    """)
"""Methods of arrays that are the functions of these names, and change nothing."""
WRITING = words("sort fill put itemset partition resize setflags")
"""Methods that write into their array."""
STRUCTURAL = words("""
    max amax min amin diag diagonal tril triu expand_dims squeeze ravel flatten
    broadcast_to concatenate stack flip flipud fliplr repeat take_along_axis abs
    absolute maximum minimum positive negative square diff sum prod cumsum count_nonzero
    sign add subtract multiply power mod remainder floor_divide dot vdot outer kron
    tensordot matmul trace
    """)
"""Functions whose entries are of the kind of their arguments'."""
ADDING = words("sum prod cumsum count_nonzero trace")
"""Of these, those that make numbers of conditions."""
OF_CONDITIONS = words("dot vdot matmul kron tensordot outer diff negative")
"""Functions that go by other rules where all arguments are conditions."""


@dataclass(frozen=True)
class Signature:
    """What a function is called with: names, and those whose values are refused."""

    names: tuple[str, ...]
    refused: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Signature:
        """Read `a, axis, out!`."""
        words = [word.strip() for word in text.split(",") if word.strip()]
        refused = frozenset(word[:-1] for word in words if word.endswith("!"))
        return cls(tuple(word.rstrip("!") for word in words), refused)


@dataclass(frozen=True)
class Template:
    """A row: a signature, and the expression that a call stands for."""

    signature: Signature
    expression: str
    elementwise: bool = False

    @classmethod
    def of(cls, row: str, elementwise: bool = False) -> Template:
        """Read `a, axis -> sum(a, axis=)`."""
        left, _, right = row.partition(" -> ")
        return cls(Signature.of(left), right, elementwise)

    @cached_property
    def tree(self) -> ast.expr:
        """The expression as a tree: of its outermost operation."""
        text = self.expression.replace("=,", "=0,").replace("=)", "=0)")
        return ast.parse(text, mode="eval").body


def _pairs(words: str) -> list[tuple[str, str]]:
    """Return what is called, and what it is: `abs=fabs` is `fabs` to NumPy."""
    found = []
    for word in words.split():
        own, _, other = word.partition("=")
        found.append((other or own, own))
    return found


def _rows() -> dict[str, Template]:
    rows: dict[str, Template] = {}
    end = "out!, where!, dtype!"
    for name, own in _pairs(_UNARY):
        rows[f"numpy.{name}"] = Template.of(f"x, {end} -> {own}(x)", True)
    for name, own in _pairs(_BINARY):
        rows[f"numpy.{name}"] = Template.of(f"x, y, {end} -> {own}(x, y)", True)
    for prefix, table in (
        ("numpy", _NUMPY),
        ("numpy.linalg", _LINALG),
        ("scipy.special", _SPECIAL),
    ):
        for name, row in table.items():
            special = prefix == "scipy.special"
            rows[f"{prefix}.{name}"] = Template.of(row, special)
    return rows


ROWS = _rows()
BUILTINS = {"abs": "numpy.abs", "pow": "numpy.power", "float": "numpy.float64"}
"""Functions of Python's that are NumPy's of a number or an array."""


def canonical(dotted: str) -> str:
    """Return the path under which the tables know a function."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        prefix = ".".join(parts[:count])
        if prefix in PREFIXES:
            rest = parts[count:]
            if prefix == "math" and rest and rest[0] in OF_MATH:
                return f"scipy.special.{OF_MATH[rest[0]]}"
            return ".".join([PREFIXES[prefix], *rest])
    return dotted
