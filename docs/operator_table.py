"""Write the table of PyTorch's operators in from-thoad.md by generating each row.

Run it as `python docs/operator_table.py`, or with `--check` to compare only. The first
three columns stand here; what the derivatives of orders 1 to 3 hold is read from the
objects of the modules that tensorgen generates for the rows.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tensorgen

PAGE = Path(__file__).resolve().parent / "from-thoad.md"
BEGIN, END = "<!-- operators: begin -->", "<!-- operators: end -->"

Array = Any


class Row(NamedTuple):
    """An operator: its names in PyTorch, and how it is written here."""

    torch: str
    text: str  # an expression, or `f[i, j]: ...` in index notation
    thoad: str = "yes"
    top: int = 3  # the highest order that stands in the table

    @property
    def variable(self) -> str:
        """The input that the row is differentiated by."""
        return next(name for name in VARIABLES if _mentions(self.text, name))

    @property
    def clause(self) -> str:
        """The row as a line of `where`."""
        left, colon, body = self.text.partition("]: ")
        return f"{left}] = {body}" if colon else f"f = {self.text}"


VARIABLES = ("x", "X", "A", "W", "T")
# What rows mention besides: second arguments depend on the variable, so that mixed
# derivatives count too.
SECOND = {
    "x": "y = c - x / 3\nz = y / 2\nh = c[:3] - x[:3] / 3",
    "X": "Y = C - X / 3",
    "A": "B = D - A / 3\nv = D[0] - A[0] / 3",
    "W": "",
    "T": "S = Q - T / 3",
}
INPUTS = """\
  x: [n]
  X: [m, k]
  A: [p, p]
  W: [2, 2]
  T: [b, p, p]
  c: [n]
  C: [m, k]
  D: [p, p]
  Q: [b, p, p]
  start: [q]
  places: {shape: [q], index: n}
  tall: {shape: [q], index: m}
  wide: {shape: [q], index: k}
  slot: {shape: [n], index: q}
  pick: {shape: [m, q], index: k}
"""
SIZES = {"n": 5, "m": 3, "k": 4, "p": 3, "b": 2, "q": 2}

ELEMENTWISE = [
    Row("add, +", "x + y"),
    Row("sub, -", "x - y"),
    Row("neg", "-x"),
    Row("mul, *", "x * y"),
    Row("div, /", "x / y"),
    Row("pow, a number as exponent", "x**2.5"),
    Row("pow", "x**y"),
    Row("sqrt", "sqrt(x)"),
    Row("exp", "exp(x)"),
    Row("log", "log(x)"),
    Row("log2", "log2(x)"),
    Row("log10", "log10(x)"),
    Row("special.xlogy", "xlogy(x, y)"),
    Row("sin", "sin(x)"),
    Row("cos", "cos(x)"),
    Row("tan", "tan(x)"),
    Row("sinh", "sinh(x)"),
    Row("cosh", "cosh(x)"),
    Row("tanh", "tanh(x)"),
    Row("sigmoid", "sigmoid(x)"),
    Row("softplus", "softplus(x)"),
    Row("abs", "abs(x)"),
    Row("maximum", "maximum(x, y)"),
    Row("minimum", "minimum(x, y)"),
    Row("where", "where(x > 1/2, x**2, y)"),
    Row("relu", "relu(x)"),
    Row("leaky_relu", "leaky_relu(x, 0.01)"),
    Row("rrelu, in evaluation", "leaky_relu(x, 11 / 48)"),
    Row("prelu", "prelu(x, y)"),
    Row("elu", "elu(x)"),
    Row("selu", "selu(x)"),
    Row("celu", "celu(x, 2)"),
    Row("gelu", "gelu(x)"),
    Row("silu", "silu(x)"),
    Row("glu, of two halves", "glu(x, y)"),
]
ARRAYS = [
    Row("sum", "sum(x)"),
    Row("sum(dim)", "sum(X, axis=1)"),
    Row("mean", "mean(x)"),
    Row("mean(dim)", "mean(X, axis=1)"),
    Row("prod", "prod(x)"),
    Row("prod(dim)", "prod(X, axis=1)"),
    Row("max", "max(x)"),
    Row("max(dim)", "max(X, axis=1)"),
    Row("min", "min(x)"),
    Row("min(dim)", "min(X, axis=1)"),
    Row("softmax", "softmax(X, axis=1)"),
    Row("log_softmax", "log_softmax(X, axis=1)"),
    Row("dot", "x @ y"),
    Row("mv", "A @ v"),
    Row("mm, matmul", "A @ B"),
    Row("addmm, linear", "B + A @ B"),
    Row("bmm", "T @ S"),
    Row("t, transpose, permute, .T", "X.T"),
    Row("view, reshape", "reshape(X, k, m)"),
    Row("expand", "broadcast_to(x, (3, n))"),
    Row("repeat", "concatenate([x, x])"),
    Row("squeeze", "squeeze(X[:, None])"),
    Row("unsqueeze", "expand_dims(x, 0)"),
    Row("select, x[0]", "x[0]"),
    Row("slice, x[1:]", "x[1:]"),
    Row("index_select", "x[places]"),
    Row("clone", "x"),
    Row("mse_loss", "mse(x, y)"),
    Row("smooth_l1_loss", "smooth_l1(x, y)"),
    Row("binary_cross_entropy", "bce(x, z)"),
    Row("binary_cross_entropy_with_logits", "bce_with_logits(x, z)"),
]
# Their third derivatives take long to generate.
SLOW = ("linalg.cholesky", "linalg.matrix_exp")
REFUSED = [
    Row(torch, text, "no", 2 if torch in SLOW else 3)
    for torch, text in (
        ("asin", "asin(x)"),
        ("acos", "acos(x)"),
        ("atan", "atan(x)"),
        ("asinh", "asinh(x)"),
        ("acosh", "acosh(1 + x)"),
        ("atanh", "atanh(x)"),
        ("erf", "erf(x)"),
        ("erfc", "erfc(x)"),
        ("lgamma", "lgamma(x)"),
        ("expm1", "expm1(x)"),
        ("log1p", "log1p(x)"),
        ("atan2", "atan2(x, y)"),
        ("hypot", "hypot(x, y)"),
        ("logaddexp", "logaddexp(x, y)"),
        ("logsigmoid", "log_sigmoid(x)"),
        ("clamp", "clip(x, 0.3, 0.6)"),
        ("norm", "norm(x)"),
        ("var, without correction", "var(X, axis=1)"),
        ("logsumexp", "logsumexp(X, axis=1)"),
        ("cumsum", "cumsum(x)"),
        ("cat", "concatenate([x, y])"),
        ("stack", "stack([x, y])"),
        ("flip", "flip(x)"),
        ("roll", "roll(x, 1)"),
        ("gather", "f[i, j]: X[i, pick[i, j]]"),
        ("take", "take(x, places)"),
        ("put", "put(x, places, y[places])"),
        ("index_put", "index_put(X, tall, Y[tall])"),
        ("index_put, accumulate", "index_put(X, (tall, wide), Y[tall, wide], True)"),
        ("masked_select, by places", "x[places]"),
        ("masked_fill", "where(x < 1/2, 0, x)"),
        ("index_add", "f[i]: start[i] + sum(x[e], e, slot[e] == i)"),
        ("diag, diag_embed", "diag(x)"),
        ("diagonal", "diagonal(A)"),
        ("trace", "trace(A @ B)"),
        ("tril", "tril(A)"),
        ("linalg.inv", "inv(A)"),
        ("linalg.solve", "solve(A, v)"),
        ("linalg.det", "det(A)"),
        ("logdet", "logdet(A)"),
        ("linalg.cholesky", "cholesky(A)"),
        ("linalg.matrix_exp", "expm(W)"),
        ("layer_norm", "layer_norm(x, 1, 0, 0.001)"),
        ("conv1d", "f[i]: sum(x[i + j] * h[j], j)"),
    )
]
COMPOSED = [
    Row(torch, text, "by its parts")
    for torch, text in (
        ("einsum", "einsum('ij,ik->jk', X, Y)"),
        ("kron", "kron(x, y)"),
        ("scaled_dot_product_attention", "attention(X, C, C)"),
    )
]
ROWS = [*ELEMENTWISE, *ARRAYS, *REFUSED, *COMPOSED]


def _mentions(text: str, name: str) -> bool:
    for sign in "()[],:*/+-.":
        text = text.replace(sign, " ")
    return name in text.split()


def spec(row: Row) -> str:
    """Return a spec for value and the derivatives of orders 1 to 3."""
    x = row.variable
    emitted = ["value", "jacobian", f"[{x}, {x}]", "3"]
    lines = [*SECOND[x].splitlines(), row.clause]
    used = [line for line in lines[:-1] if _used(line, lines)]
    where = "".join(f"      {line}\n" for line in [*used, lines[-1]])
    return (
        f"tensorgen: 1\nmodule: row\ninputs:\n{INPUTS}functions:\n"
        f"  g:\n    where: |\n{where}    expr: f\n    wrt: {x}\n"
        f"    emit: [{', '.join(emitted[: row.top + 1])}]\n"
    )


def _used(line: str, lines: list[str]) -> bool:
    name = line.partition(" = ")[0]
    return any(_mentions(x.partition(" = ")[2], name) for x in lines)


def arguments() -> dict[str, Array]:
    """Return values for all inputs: positive, far from ties, regular as matrices."""
    rng = np.random.default_rng(5)
    n, m, k, p, b, q = SIZES.values()
    shapes = {"x": (n,), "X": (m, k), "A": (p, p), "W": (2, 2), "T": (b, p, p)}
    shapes |= {"c": (n,), "C": (m, k), "D": (p, p), "Q": (b, p, p), "start": (q,)}
    found = {}
    for name, shape in shapes.items():
        even = np.linspace(0.21, 0.83, int(np.prod(shape)))
        found[name] = rng.permutation(even).reshape(shape)
    for name in "AD":
        found[name] += 2 * np.eye(p)
    found["c"] = found["c"] + 0.35
    found["places"] = np.array([3, 1])
    found["tall"], found["wide"] = np.array([2, 0]), np.array([1, 3])
    found["slot"] = np.array([1, 0, 1, 1, 0])
    found["pick"] = np.array([[1, 3], [2, 2], [0, 1]])
    return found


class Derivatives:
    """The module that is generated for a row, called with the arguments above."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.module = tensorgen.load(spec(row))
        code = self.module.g.__code__
        numbers = arguments()
        names = code.co_varnames[: code.co_argcount]
        self.arguments = {name: numbers[name] for name in names}

    def at(self, order: int, point: Array | None = None) -> Any:
        """Return the value, or the object of a derivative, maybe at another point."""
        x = self.row.variable
        name = ("g", "g_jac", f"g_d_{x}_{x}", "g_d3")[order]
        moved = {} if point is None else {x: point}
        return getattr(self.module, name)(**{**self.arguments, **moved})

    def line(self) -> str:
        """Return the row of the table."""
        cells = [self.row.torch, f"`{self.row.text}`", self.row.thoad]
        for order in range(1, self.row.top + 1):
            found = self.at(order)
            size = 0 if found.structure.endswith("= 0") else found.nbytes // 8
            cells.append(f"{size} of {np.prod(found.tensor_shape)}")
        cells += ["not shown"] * (3 - self.row.top)
        return f"| {' | '.join(cells)} |"


HEAD = """\
| PyTorch | tensorgen | THOAD | order 1 stores | order 2 stores | order 3 stores |
| --- | --- | --- | --- | --- | --- |
"""


def table() -> str:
    """Return what stands between the two marks."""
    return HEAD + "\n".join(Derivatives(row).line() for row in ROWS)


def page(text: str) -> str:
    """Return the page with its table written anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def main() -> int:
    """Write the page, or with `--check` say whether it is up to date."""
    text = PAGE.read_text(encoding="utf-8")
    wanted = page(text)
    if "--check" in sys.argv[1:]:
        if wanted != text:
            print(f"{PAGE.name}: stale; run python docs/operator_table.py")
        return int(wanted != text)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
