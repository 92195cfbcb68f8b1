"""What there is to call in a spec: each function with its derivative and an example.

For elementwise functions the derivative and the NumPy spelling are those of their rows.
For all others a sample is compiled: the derivative is the formula that the compiler
found for it, and the NumPy code is what it wrote.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files

from tensorgen.errors import Text
from tensorgen.loading import generated, source_of
from tensorgen.operators.elementwise import ALIASES, ELEMENTWISE
from tensorgen.operators.functions import FUNCTIONS
from tensorgen.spec.clauses import split_statements

ELEMENT, ARRAY, DEFINED = "elementwise", "whole arrays", "defined in the prelude"
"""The sorts of functions."""


@dataclass(frozen=True)
class Entry:
    """A function: how it is called, what it is, and the sample that shows it."""

    name: str
    sort: str
    signature: str
    doc: str
    shape: str = ""
    inputs: str = ""
    sample: str = ""


def entries() -> Iterator[Entry]:
    """All of them, by sort, in the order of their tables."""
    rows = {x: ELEMENTWISE.get(ALIASES.get(x, x)) for x in FUNCTIONS}
    for name, source in rows.items():
        if source is not None:
            row = FUNCTIONS[name]
            says = "" if row.doc == f"Elementwise {name}." else row.doc
            says += f" Needs `{source.requires}`." if source.requires else ""
            yield Entry(name, ELEMENT, str(row), says.strip())
    for name, source in rows.items():
        if source is None:
            row = FUNCTIONS[name]
            binds = " Binds indices." if row.reduces else ""
            says = row.doc + (" Follows an index." if row.along else binds)
            yield Entry(name, ARRAY, str(row), says, row.shape, *SAMPLES[name])
    text = files("tensorgen.lang").joinpath("prelude.tg").read_text(encoding="utf-8")
    for statement in split_statements(Text.plain(text, "prelude.tg")):
        name = statement.value.partition("(")[0]
        samples = PRELUDE[name]
        yield Entry(name, DEFINED, statement.value, "", "", *samples)


def partials(entry: Entry) -> list[str]:
    """The derivatives of an elementwise function by each argument."""
    source = ELEMENTWISE[ALIASES.get(entry.name, entry.name)]
    names = FUNCTIONS[entry.name].signature.split(", ")
    letters = ("x", "y", "z")[: len(names)]
    return [_renamed(text, letters, names) for text in source.partials]


def spelling(entry: Entry) -> str:
    """An elementwise function in NumPy."""
    source = ELEMENTWISE[ALIASES.get(entry.name, entry.name)]
    return source.numpy.format(*FUNCTIONS[entry.name].signature.split(", "))


def sample_spec(entry: Entry) -> str:
    """A spec that calls the function, and differentiates it where it can be."""
    if entry.sort == ELEMENT:
        names = FUNCTIONS[entry.name].signature.split(", ")
        inputs = ", ".join(f"{name}: [n]" for name in names)
        body = f"{entry.name}({', '.join(names)})"
        options = f", wrt: {names[0]}, emit: [value, dense_jacobian]"
    else:
        wrt, inputs = entry.inputs.partition(":")[0], entry.inputs
        constant = entry.name in CONSTANT
        options = "" if constant else f", wrt: {wrt}, emit: [value, dense_jacobian]"
        # A dim needs an axis that gives it, also where the function has no array.
        body = f"{entry.sample} + 0 * {wrt}" if constant else entry.sample
    return (
        f"tensorgen: 1\ninputs: {{{inputs}}}\nfunctions:\n"
        f'  f: {{expr: "{body}"{options}}}\n'
    )


def worked(entry: Entry) -> tuple[str, str]:
    """The derivative of a sample by its first input, and the sample in NumPy.

    The former is empty where there is none, or it is too long to be read.
    """
    wrt = entry.inputs.partition(":")[0]
    _, text = generated(source_of(sample_spec(entry)), "numpy", "cross-country")
    found = _functions(text)
    code = _computation(found["f"])
    if entry.name in CONSTANT:
        return "", code.replace(f" + 0 * {wrt}", "")
    return _formula(found["f_jac_dense"]), code


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


# How each function that is not elementwise is called in the sample.
_A, _X, _v = "A: [n, n]", "X: [m, n]", "v: [n]"
SAMPLES: Mapping[str, tuple[str, str]] = {
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
    "searchsorted": (f"y: [k + 1], a: [k], {_v}", "y[searchsorted(a, v)]"),
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
PRELUDE: Mapping[str, tuple[str, str]] = {
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
    "log_sub_exp": (_xy, "log_sub_exp(x, y)"),
    "log_ndtr_diff": (_xy, "log_ndtr_diff(x, y)"),
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
    "lstsq": (f"{_X}, y: [m]", "lstsq(X, y)"),
    "attention": (f"{_X}, K: [s, n], V: [s, p]", "attention(X, K, V)"),
}
# Nothing to differentiate by: their arguments are sizes.
CONSTANT = ("eye", "ones", "zeros", "arange")


def page(entry: Entry) -> str:
    """Return all about one function, for a person."""
    rows = [("", entry.doc), ("shape", entry.shape)]
    if entry.sort == ELEMENT:
        names = entry.signature.partition("(")[2].rstrip(")").split(", ")
        rows += [
            (f"by {name}", text)
            for name, text in zip(names, partials(entry), strict=False)
        ]
        rows.append(("NumPy", spelling(entry)))
    else:
        formula, code = worked(entry)
        wrt = entry.inputs.partition(":")[0]
        rows += [
            ("example", f"{entry.sample}   with {entry.inputs}"),
            (f"by {wrt}", formula),
            ("NumPy", code),
        ]
    width = max(len(label) for label, text in rows if text)
    lines = [entry.signature, f"  {entry.sort}"]
    for label, text in rows:
        if text:
            lines.append(f"  {label:{width}}  {text}" if label else f"  {text}")
    spec = "".join(f"  {line}\n" for line in sample_spec(entry).splitlines())
    return "\n".join(lines) + "\n\n" + spec
