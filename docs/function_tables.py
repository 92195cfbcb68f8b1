"""Write the tables of functions in language.md from the tables that the compiler reads.

Run it as `python docs/function_tables.py`, or with `--check` to compare only. For
elementwise functions the derivative and the NumPy spelling are those of their rows. For
all others a sample is compiled: the derivative is the formula that the compiler found
for it, and the NumPy code is what it wrote.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from importlib.resources import files
from pathlib import Path

import tensorgen
from tensorgen.errors import Text
from tensorgen.operators.elementwise import ALIASES, ELEMENTWISE
from tensorgen.operators.functions import FUNCTIONS, Function
from tensorgen.spec.clauses import split_statements

PAGE = Path(__file__).resolve().parent / "language.md"
BEGIN, END = "<!-- functions: begin -->", "<!-- functions: end -->"

# How each function that is not elementwise is called in the sample.
_A, _X, _v = "A: [n, n]", "X: [m, n]", "v: [n]"
SAMPLES = {
    "sum": (_X, "sum(X, axis=1)"),
    "mean": (_X, "mean(X, axis=1)"),
    "var": (_X, "var(X, axis=1)"),
    "std": (_X, "std(X, axis=1)"),
    "prod": (_X, "prod(X, axis=1)"),
    "max": (_X, "max(X, axis=1)"),
    "min": (_X, "min(X, axis=1)"),
    "norm": (_v, "norm(v)"),
    "logsumexp": (_X, "logsumexp(X, axis=1)"),
    "softmax": (_X, "softmax(X, axis=1)"),
    "log_softmax": (_X, "log_softmax(X, axis=1)"),
    "median": (_X, "median(X, axis=1)"),
    "cumsum": (_v, "cumsum(v)"),
    "cumprod": (_v, "cumprod(v)"),
    "sort": (_v, "sort(v)"),
    "argsort": (f"{_v}, w: [n]", "v[argsort(w)]"),
    "take_along_axis": (
        f"{_X}, p: {{shape: [m, 2], index: n}}",
        "take_along_axis(X, p)",
    ),
    "one_hot": (f"w: [m], {_X}, p: {{shape: [m], index: n}}", "w @ (one_hot(p) * X)"),
    "dot": (f"{_v}, w: [n]", "dot(v, w)"),
    "vdot": (f"{_X}, Y: [m, n]", "vdot(X, Y)"),
    "outer": (f"{_v}, w: [m]", "outer(v, w)"),
    "kron": (f"{_v}, w: [m]", "kron(v, w)"),
    "cross": ("v: [3], w: [3]", "cross(v, w)"),
    "matmul": (f"{_X}, B: [n, p]", "matmul(X, B)"),
    "einsum": (f"{_X}, B: [n, p]", "einsum('ij,jk->ik', X, B)"),
    "tensordot": (f"{_X}, B: [n, p]", "tensordot(X, B, 1)"),
    "trace": (_A, "trace(A)"),
    "tr": (_A, "tr(A)"),
    "diag": (_v, "diag(v)"),
    "diagonal": (_A, "diagonal(A)"),
    "tril": (_A, "tril(A)"),
    "triu": (_A, "triu(A)"),
    "transpose": (_X, "transpose(X)"),
    "inv": (_A, "inv(A)"),
    "solve": (f"{_v}, A: [n, n]", "solve(A, v)"),
    "det": (_A, "det(A)"),
    "logdet": (_A, "logdet(A)"),
    "spd": (_A, "spd(A)"),
    "symmetric": (_A, "symmetric(A)"),
    "stop_gradient": (_v, "stop_gradient(v)"),
    "cholesky": ("A: {shape: [n, n], spd: true}", "cholesky(A)"),
    "expm": (_A, "expm(A)"),
    "sqrtm": (_A, "sqrtm(A)"),
    "logm": (_A, "logm(A)"),
    "eigvalsh": (_A, "eigvalsh(A)"),
    "eigvecsh": (_A, "eigvecsh(A)"),
    "svdvals": (_A, "svdvals(A)"),
    "pinv": (_X, "pinv(X)"),
    "solve_triangular": (f"{_v}, A: [n, n]", "solve_triangular(A, v)"),
    "matrix_power": (_A, "matrix_power(A, 3)"),
    "toeplitz": (_v, "toeplitz(v)"),
    "block_diag": (f"{_A}, B: [m, m]", "block_diag(A, B)"),
    "eye": (_v, "eye(n)"),
    "ones": (_v, "ones(n)"),
    "zeros": (_v, "zeros(n)"),
    "full": ("c: scalar, v: [n]", "full((n,), c) * v"),
    "arange": (_v, "arange(n)"),
    "reshape": ("X: [m, 6]", "reshape(X, m, 2, 3)"),
    "ravel": (_X, "ravel(X)"),
    "concatenate": (f"{_v}, w: [m]", "concatenate([v, w])"),
    "stack": (f"{_v}, w: [n]", "stack([v, w])"),
    "expand_dims": (_v, "expand_dims(v, 0)"),
    "squeeze": ("v: [n, 1]", "squeeze(v)"),
    "broadcast_to": (_v, "broadcast_to(v, (3, n))"),
    "flip": (_v, "flip(v)"),
    "roll": (_v, "roll(v, 1)"),
    "diff": (_v, "diff(v)"),
    "convolve": (f"{_v}, h: [k]", "convolve(v, h)"),
    "correlate": (f"{_v}, h: [k]", "correlate(v, h)"),
    "interp": (f"fp: [k], {_v}, xp: [k]", "interp(v, xp, fp)"),
    "spline": ("fp: [k], c: scalar, xp: [k]", "spline(c, xp, fp)"),
    "pad": (_v, "pad(v, 1)"),
    "repeat": (_v, "repeat(v, 2)"),
    "tile": (_v, "tile(v, 2)"),
}
# The same for the definitions of the prelude.
_x, _xy = "x: [n]", "x: [n], y: [n]"
DEFINED = {
    "square": (_x, "square(x)"),
    "reciprocal": (_x, "reciprocal(x)"),
    "ceil": (_x, "ceil(x)"),
    "isnan": (_x, "isnan(x)"),
    "clip": (_x, "clip(x, 0, 1)"),
    "gelu": (_x, "gelu(x)"),
    "silu": (_x, "silu(x)"),
    "elu": (_x, "elu(x)"),
    "softsign": (_x, "softsign(x)"),
    "leaky_relu": (_x, "leaky_relu(x, 0.1)"),
    "prelu": ("x: [n], a: scalar", "prelu(x, a)"),
    "celu": (_x, "celu(x, 2)"),
    "selu": (_x, "selu(x)"),
    "glu": (_xy, "glu(x, y)"),
    "mish": (_x, "mish(x)"),
    "logit": (_x, "logit(x)"),
    "trigamma": (_x, "trigamma(x)"),
    "huber": (_x, "huber(x, 1)"),
    "smooth_l1": (_xy, "smooth_l1(x, y)"),
    "mse": (_xy, "mse(x, y)"),
    "bce": (_xy, "bce(x, y)"),
    "bce_with_logits": (_xy, "bce_with_logits(x, y)"),
    "cross_entropy": (f"{_X}, P: [m, n]", "cross_entropy(X, P)"),
    "centered": (_X, "centered(X)"),
    "layer_norm": (f"{_X}, g: [n], b: [n]", "layer_norm(X, g, b, 0.001)"),
    "row_length": (_X, "row_length(X)"),
    "similarity": (f"{_X}, K: [s, n]", "similarity(X, K)"),
    "attention": (f"{_X}, K: [s, n], V: [s, p]", "attention(X, K, V)"),
}
# Nothing to differentiate by: their arguments are sizes.
CONSTANT = ("eye", "ones", "zeros", "arange")


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _functions(source: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(source)
    return {x.name: x for x in tree.body if isinstance(x, ast.FunctionDef)}


def _computation(function: ast.FunctionDef) -> str:
    """Return the statements of a generated function behind its checks."""
    names = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    lines: list[str] = []
    for statement in function.body[1:]:
        text = ast.unparse(statement)
        if isinstance(statement, ast.If) or "_arrays(" in text or "_check_" in text:
            continue
        if text.startswith(("n =", "m =", "n, m", "m, n", "dtype =")):
            continue
        if text.startswith("return ") and text.removeprefix("return ") not in names:
            text = text.removeprefix("return ")
        lines.append(text)
    if len(lines) > 1 and lines[-2].startswith(f"{lines[-1]} = "):
        lines[-2:] = [lines[-2].removeprefix(f"{lines[-1]} = ")]
    return "; ".join(lines)


def _formula(function: ast.FunctionDef) -> str:
    """Return the formula in index notation that a docstring ends its heading with."""
    text = ast.get_docstring(function) or ""
    heading = textwrap.dedent(text.split("Arguments:")[0].split("\n\n")[1])
    # Long equations go on in lines that are indented deeper.
    equations = heading.replace("\n    ", " ").splitlines()
    wheres = [x for x in equations if x.startswith("where ")]
    others = [x for x in equations if not x.startswith("where ")]
    last = others[-1] if others else ""
    if not last.startswith("jac"):  # it would be too long to be read
        return ""
    return "; ".join([last.partition(" = ")[2], *wheres])


def _sampled(name: str, samples: dict[str, tuple[str, str]]) -> tuple[str, str]:
    """Return derivative and NumPy code of a function's sample."""
    inputs, expr = samples[name]
    wrt = inputs.partition(":")[0]
    options = "" if name in CONSTANT else f", wrt: {wrt}, emit: [value, dense_jacobian]"
    # A dim needs an axis that gives it, also where the function has no array.
    body = f"{expr} + 0 * {wrt}" if name in CONSTANT else expr
    spec = (
        f"tensorgen: 1\ninputs: {{{inputs}}}\nfunctions:\n"
        f'  f: {{expr: "{body}"{options}}}\n'
    )
    found = _functions(tensorgen.generate(spec, backend="numpy"))
    if name in CONSTANT:
        return "", _code(_computation(found["f"]).replace(f" + 0 * {wrt}", ""))
    formula = _formula(found["f_jac_dense"])
    derivative = f"by {wrt}: {_code(formula)}" if formula else ""
    return derivative, _code(_computation(found["f"]))


def elementwise() -> list[str]:
    """Return the table of elementwise functions."""
    lines = [
        _row("function", "derivative", "NumPy", ""),
        _row("---", "---", "---", "---"),
    ]
    for name, row in FUNCTIONS.items():
        source = ELEMENTWISE.get(ALIASES.get(name, name))
        if source is None:
            continue
        names = row.signature.split(", ")
        letters = ("x", "y", "z")[: len(names)]
        partials = [_renamed(text, letters, names) for text in source.partials]
        code = source.numpy.format(*names)
        says = "" if row.doc == f"Elementwise {name}." else row.doc
        says += f" Needs `{source.requires}`." if source.requires else ""
        derivative = ", ".join(_code(text) for text in partials)
        lines.append(_row(_code(str(row)), derivative, _code(code), says.strip()))
    return lines


def _renamed(text: str, old: tuple[str, ...], new: list[str]) -> str:
    """Write a derivative in the names of the function's own arguments."""
    if not text:
        return "none"
    names = dict(zip(old, new, strict=True))
    return ast.unparse(_Rewrite(names).visit(ast.parse(text, mode="eval")))


class _Rewrite(ast.NodeTransformer):
    """Renames, and writes `greater(x, 0)` as `x > 0`."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        assert isinstance(node.func, ast.Name)
        sign = {"greater": ast.Gt(), "less": ast.Lt()}.get(node.func.id)
        if node.func.id == "logical_not":
            return ast.BinOp(ast.Constant(1), ast.Sub(), node.args[0])
        return (
            node if sign is None else ast.Compare(node.args[0], [sign], node.args[1:])
        )


def arrays() -> list[str]:
    """Return the table of all other functions."""
    lines = [
        _row("function", "shape", "derivative of a sample", "NumPy of the sample", ""),
        _row("---", "---", "---", "---", "---"),
    ]
    for name, row in FUNCTIONS.items():
        if ALIASES.get(name, name) in ELEMENTWISE:
            continue
        if name not in SAMPLES:
            raise SystemExit(f"say in SAMPLES how {row} is called in a sample")
        derivative, code = _sampled(name, SAMPLES)
        sample = f"{_code(SAMPLES[name][1])}: " if derivative else ""
        lines.append(
            _row(_code(str(row)), row.shape, sample + derivative, code, _doc(row))
        )
    return lines


def definitions() -> list[str]:
    """Return the table of the prelude's definitions."""
    text = files("tensorgen.lang").joinpath("prelude.tg").read_text(encoding="utf-8")
    lines = [
        _row("definition", "derivative of a sample", "NumPy of the sample"),
        _row("---", "---", "---"),
    ]
    for statement in split_statements(Text.plain(text, "prelude.tg")):
        name = statement.value.partition("(")[0]
        if name not in DEFINED:
            raise SystemExit(f"say in DEFINED how {name} is called in a sample")
        derivative, code = _sampled(name, DEFINED)
        sample = f"{_code(DEFINED[name][1])}: {derivative}"
        lines.append(_row(_code(statement.value), sample, code))
    return lines


def _doc(row: Function) -> str:
    binds = " Binds indices." if row.reduces else ""
    return row.doc + (" Follows an index." if row.along else binds)


def tables() -> str:
    """Return what stands between the two marks."""
    parts = [
        "### Elementwise",
        "",
        *elementwise(),
        "",
        "### Of whole arrays",
        "",
        *arrays(),
        "",
        "### Definitions of the prelude",
        "",
        *definitions(),
    ]
    return "\n".join(parts)


def page(text: str) -> str:
    """Return the page with its tables written anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables()}\n{END}{after}"


def main() -> int:
    """Write the page, or with `--check` say whether it is up to date."""
    text = PAGE.read_text(encoding="utf-8")
    wanted = page(text)
    if "--check" in sys.argv[1:]:
        if wanted != text:
            print(f"{PAGE.name}: stale; run python docs/function_tables.py")
        return int(wanted != text)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
