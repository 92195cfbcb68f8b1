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
from tensorgen.explanation.function_forms import in_cuda, stable_forms
from tensorgen.explanation.subjects import explained
from tensorgen.explanation.sum_ranges import Equation
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

    @property
    def call(self) -> str:
        """How it is called."""
        return self.signature.partition(") =")[0] + ")" * (") =" in self.signature)

    @property
    def definition(self) -> str:
        """What one of the prelude is defined as, else nothing."""
        return self.signature.partition(") =")[2].strip()

    @property
    def short(self) -> str:
        """A line about it: its documentation, or its definition, or its derivative."""
        if not self.doc and not self.sample:
            return "derivative: " + ", ".join(partials(self))
        return self.definition or self.doc.partition(". ")[0].rstrip(".")


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
        yield Entry(name, DEFINED, statement.value, "", "", *SAMPLES[name])


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


def equations(entry: Entry) -> list[Equation]:
    """What a sample is, and its derivative by its first input, with all ranges.

    Parts that several equations mention come once; what is too long is left out.
    """
    told = explained(source_of(sample_spec(entry)), in_all_modes=False)
    found = {e.left: e for x in told.subjects for e in x.equations}
    return [*found.values()]


def cuda(entry: Entry) -> tuple[str, list[str]]:
    """An elementwise function in kernels, and the functions that are defined for it."""
    return in_cuda(spelling(entry), FUNCTIONS[entry.name].signature.split(", "))


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


# How each function that is not elementwise is called in the sample: the calls by what
# is given to them, the first of which they are differentiated by.
_CALLS: Mapping[str, tuple[str, ...]] = {
    "X: [m, n]": (
        *("sum(X, axis=1)", "mean(X, axis=1)", "var(X, axis=1)", "std(X, axis=1)"),
        *("prod(X, axis=1)", "max(X, axis=1)", "min(X, axis=1)"),
        *("logsumexp(X, axis=1)", "softmax(X, axis=1)", "log_softmax(X, axis=1)"),
        *("median(X, axis=1)", "transpose(X)", "pinv(X)", "ravel(X)", "centered(X)"),
        "row_length(X)",
    ),
    "v: [n]": (
        *("norm(v)", "cumsum(v)", "cumprod(v)", "sort(v)", "diag(v)"),
        *("stop_gradient(v)", "toeplitz(v)", "eye(n)", "ones(n)", "zeros(n)"),
        *("arange(n)", "expand_dims(v, 0)", "broadcast_to(v, (3, n))", "flip(v)"),
        *("roll(v, 1)", "diff(v)", "pad(v, 1)", "repeat(v, 2)", "tile(v, 2)"),
    ),
    "X: [m, n], p: {shape: [m, 2], index: n}": ("take_along_axis(X, p)",),
    "v: [n], p: {shape: [k], index: n}": ("take(v, p)",),
    "v: [n], p: {shape: [k], index: n}, w: [k]": ("put(v, p, w)",),
    "X: [m, n], p: {shape: [k], index: m}, Y: [k, n]": ("index_put(X, p, Y)",),
    "v: [n], w: [n]": ("dot(v, w)", "stack([v, w])"),
    "X: [m, n], Y: [m, n]": ("vdot(X, Y)",),
    "v: [n], w: [m]": ("outer(v, w)", "kron(v, w)", "concatenate([v, w])"),
    "v: [3], w: [3]": ("cross(v, w)",),
    "X: [m, n], B: [n, p]": (
        *("matmul(X, B)", "einsum('ij,jk->ik', X, B)", "tensordot(X, B, 1)"),
    ),
    "A: [n, n]": (
        *("trace(A)", "tr(A)", "diagonal(A)", "tril(A)", "triu(A)", "inv(A)", "det(A)"),
        *("logdet(A)", "spd(A)", "symmetric(A)", "expm(A)", "sqrtm(A)", "logm(A)"),
        *("eigvalsh(A)", "eigvecsh(A)", "svdvals(A)", "matrix_power(A, 3)"),
    ),
    "v: [n], A: [n, n]": ("solve(A, v)", "solve_triangular(A, v)"),
    "A: {shape: [n, n], spd: true}": ("cholesky(A)",),
    "A: [n, n], B: [m, m]": ("block_diag(A, B)",),
    "c: scalar, v: [n]": ("full((n,), c) * v",),
    "X: [m, 6]": ("reshape(X, m, 2, 3)",),
    "v: [n, 1]": ("squeeze(v)",),
    "v: [n], h: [k]": ("convolve(v, h)", "correlate(v, h)"),
    "fp: [k], v: [n], xp: [k]": ("interp(v, xp, fp)",),
    "fp: [k], c: scalar, xp: [k]": ("spline(c, xp, fp)",),
    "x: [n]": (
        *("square(x)", "reciprocal(x)", "ceil(x)", "isnan(x)", "clip(x, 0, 1)"),
        *("gelu(x)", "silu(x)", "elu(x)", "softsign(x)", "leaky_relu(x, 0.1)"),
        *("celu(x, 2)", "selu(x)", "mish(x)", "logit(x)", "trigamma(x)", "huber(x, 1)"),
    ),
    "x: [n], a: scalar": ("prelu(x, a)",),
    "x: [n], y: [n]": (
        *("glu(x, y)", "log_sub_exp(x, y)", "log_ndtr_diff(x, y)", "smooth_l1(x, y)"),
        *("mse(x, y)", "bce(x, y)", "bce_with_logits(x, y)"),
    ),
    "X: [m, n], P: [m, n]": ("cross_entropy(X, P)",),
    "X: [m, n], g: [n], b: [n]": ("layer_norm(X, g, b, 0.001)",),
    "X: [m, n], K: [s, n]": ("similarity(X, K)",),
    "X: [m, n], y: [m]": ("lstsq(X, y)",),
    "X: [m, n], K: [s, n], V: [s, p]": ("attention(X, K, V)",),
}
SAMPLES: Mapping[str, tuple[str, str]] = {
    **{x.partition("(")[0]: (given, x) for given, xs in _CALLS.items() for x in xs},
    "argsort": ("v: [n], w: [n]", "v[argsort(w)]"),
    "searchsorted": ("y: [k + 1], a: [k], v: [n]", "y[searchsorted(a, v)]"),
    "one_hot": ("w: [m], X: [m, n], p: {shape: [m], index: n}", "w @ (one_hot(p) * X)"),
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
        rows += [("NumPy", spelling(entry)), ("CUDA", cuda(entry)[0])]
    else:
        formula, code = worked(entry)
        wrt = entry.inputs.partition(":")[0]
        rows += [
            ("example", f"{entry.sample}   with {entry.inputs}"),
            (f"by {wrt}", formula),
            ("NumPy", code),
        ]
    rows += [("stable", str(form)) for form in stable_forms(entry.name)]
    width = max(len(label) for label, text in rows if text)
    lines = [entry.signature, f"  {entry.sort}"]
    for label, text in rows:
        if text:
            lines.append(f"  {label:{width}}  {text}" if label else f"  {text}")
    spec = "".join(f"  {line}\n" for line in sample_spec(entry).splitlines())
    return "\n".join(lines) + "\n\n" + spec
