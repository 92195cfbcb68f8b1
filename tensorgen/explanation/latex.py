"""Formulas as LaTeX: a fragment that needs `amsmath`."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.emit.documentation import summary
from tensorgen.emit.text import escape
from tensorgen.explanation import formula_tree as trees
from tensorgen.explanation.matrix_tree import TOP, matrix_tree
from tensorgen.explanation.subjects import Explained, Subject
from tensorgen.explanation.sum_ranges import Equation
from tensorgen.operators.matrix_terms import Expression

GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota"),
    *("kappa", "lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "phi", "chi"),
    *("psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi"),
    *("Psi", "Omega"),
)
SPELLED = {"lam": "lambda"}
_SIGNS = {"inf": r"\infty", TOP.text: r"\top"}
_FUNCTIONS = (
    "det",
    "exp",
    "log",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "max",
    "min",
)
_OPERATORS = {
    "*": r"\,",
    "//": r"\backslash ",
    "%": r"\bmod ",
    "<=": r"\le ",
    ">=": r"\ge ",
    "!=": r"\ne ",
    "==": "=",
    "&": r"\wedge ",
    "|": r"\vee ",
    "^": r"\oplus ",
    "⊙": r"\odot",
    "⊘": r"\oslash",
}
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    **{x: "\\" + x for x in "{}$&#_%"},
}
_BRACKETS = {"(": ("(", ")"), "[": ("[", "]"), "{": (r"\{", r"\}")}


def latex(told: Explained, in_matrices: bool = False) -> str:
    """Return the formulas of all functions that were asked for.

    They are in index notation, or `in_matrices` those that can be.
    """
    rows = [f"% {_comment(told.spec.module)}: needs amsmath."]
    for subject, is_first in told.in_turn:
        rows += ["", *_subject(subject, is_first, in_matrices)]
    return "\n".join(rows) + "\n"


def displayed(told: Explained) -> str:
    """Return the formulas for a notebook, which knows mathematics alone."""
    rows = []
    for subject in told.subjects:
        if found := [_equation(e) for e in subject.equations]:
            rows += ["$$\\begin{aligned}", " \\\\\n".join(found), "\\end{aligned}$$"]
    return "\n".join(rows)


def aligned(subject: Subject, in_matrices: bool) -> str:
    """Return the formulas of a function as one display; nothing where there is none."""
    known = subject.in_matrices if in_matrices else {}
    # Parts without names of the user's are of formulas by index alone.
    whole = {name for name, _ in subject.formulas}
    named = {e.name for e in subject.equations}
    if whole <= known.keys():
        named &= {*whole, *subject.names.values()}
    told = [
        _in_matrices(e.name, known[e.name]) if e.name in known else _equation(e)
        for e in subject.equations
        if e.name in named
    ]
    rows = [r"\begin{align*}", " \\\\\n".join(told), r"\end{align*}"]
    return "\n".join(rows) if told else ""


def _subject(subject: Subject, first: bool, in_matrices: bool) -> list[str]:
    words = summary(subject.function).replace("`", "")
    doc = " ".join((subject.function.doc or "").split()) if first else ""
    text = f"\\paragraph{{{escaped(subject.name)}}} {escaped(words)}"
    rows = [text, escaped(doc), aligned(subject, in_matrices)]
    return [row for row in rows if row]


def _in_matrices(name: str, x: Expression) -> str:
    return f"{formula(trees.Name(name))} &= {formula(matrix_tree(x))}"


def _equation(told: Equation) -> str:
    text = f"{formula(trees.left_side(told))} &= {formula(trees.read(told.body))}"
    text += r",\; \text{else } 0" * told.tied
    ranges = ",\\; ".join(
        rf"0 \le {index} < {formula(trees.read(str(dim)))}" for index, dim in told.free
    )
    return text + (rf", \quad {ranges}" if ranges else "")


def escaped(text: str) -> str:
    """Return any text as LaTeX that prints it."""
    plain = escape(text).replace("\\\\", "\\")
    return "".join(_ESCAPES.get(c, c) for c in plain)


def _comment(text: str) -> str:
    return " ".join(escape(text).split())


def formula(tree: trees.Tree) -> str:
    """Return a formula as LaTeX."""
    match tree:
        case trees.Name(text=text):
            return _name(text)
        case trees.Number(text=text):
            return text
        case trees.Raw(text=text):
            return rf"\texttt{{{escaped(text)}}}"
        case trees.Entry(base=base, indices=indices):
            return f"{{{formula(base)}}}_{{{_listed(indices)}}}"
        case trees.Apply():
            return _apply(tree)
        case trees.Group(kind=kind, inside=inside):
            left, right = _BRACKETS[kind]
            return rf"\left{left}{_listed(inside)}\right{right}"
        case trees.Sign(index=index, low=low, high=high, body=body, if_=conditions):
            more = "".join(rf",\; {formula(x)}" for x in conditions)
            limits = f"_{{{index}={formula(low)}{more}}}^{{{formula(high)}}}"
            return rf"\sum{limits} {formula(body)}"
        case trees.Unary(operator=operator, operand=operand):
            sign = r"\neg " if operator == "~" else _OPERATORS.get(operator, operator)
            return sign + formula(operand)
        case trees.Binary():
            return _binary(tree)


def _name(text: str) -> str:
    text = SPELLED.get(text, text)
    if text in GREEK:
        return f"\\{text}"
    if text in _SIGNS:
        return _SIGNS[text]
    letter, digits = text[:1], text[1:]
    if digits.isdigit():
        return f"{letter}_{{{digits}}}"
    return text if len(text) == 1 and text != "?" else rf"\mathit{{{escaped(text)}}}"


def _listed(parts: Sequence[trees.Tree]) -> str:
    return ", ".join(map(formula, parts))


def _apply(tree: trees.Apply) -> str:
    inside = _listed(tree.arguments)
    if tree.function == "sqrt":
        return rf"\sqrt{{{inside}}}"
    if tree.function == "abs":
        return rf"\left|{inside}\right|"
    if tree.function == "norm" and not tree.over:
        return rf"\left\lVert {inside}\right\rVert"
    known = tree.function in _FUNCTIONS
    name = (
        f"\\{tree.function}" if known else rf"\operatorname{{{escaped(tree.function)}}}"
    )
    over = f"_{{{tree.over}}}" if tree.over else ""
    return rf"{name}{over}\left({inside}\right)"


def bare(tree: trees.Tree) -> trees.Tree:
    """A tree without parentheses around all of it, where a line or a place holds it."""
    if isinstance(tree, trees.Group) and tree.kind == "(" and len(tree.inside) == 1:
        return tree.inside[0]
    return tree


def _binary(tree: trees.Binary) -> str:
    if tree.operator == "/":
        return rf"\frac{{{formula(bare(tree.left))}}}{{{formula(bare(tree.right))}}}"
    if tree.operator == "**":
        return f"{{{formula(tree.left)}}}^{{{formula(bare(tree.right))}}}"
    operator = _OPERATORS.get(tree.operator, tree.operator)
    if tree.operator == "*" and isinstance(tree.right, trees.Number | trees.Unary):
        operator = r"\cdot "
    return f"{formula(tree.left)} {operator} {formula(tree.right)}"
