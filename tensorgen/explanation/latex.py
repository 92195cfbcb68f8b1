"""Formulas as LaTeX: a fragment that needs `amsmath`."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.emit.documentation import summary
from tensorgen.emit.text import escape
from tensorgen.explanation.formula_tree import (
    Apply,
    Binary,
    Entry,
    Group,
    Name,
    Number,
    Raw,
    Sign,
    Tree,
    Unary,
    left_side,
    read,
)
from tensorgen.explanation.subjects import Explained, Subject
from tensorgen.explanation.sum_ranges import Equation

GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota"),
    *("kappa", "lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "phi", "chi"),
    *("psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi"),
    *("Psi", "Omega"),
)
SPELLED = {"lam": "lambda"}
_FUNCTIONS = ("exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "max", "min")
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


def latex(told: Explained) -> str:
    """Return the formulas of all functions that were asked for."""
    rows = [f"% {_comment(told.spec.module)}: needs amsmath."]
    for subject, is_first in told.in_turn:
        rows += ["", *_subject(subject, is_first)]
    return "\n".join(rows) + "\n"


def displayed(told: Explained) -> str:
    """Return the formulas for a notebook, which knows mathematics alone."""
    rows = []
    for subject in told.subjects:
        if found := [_equation(e) for e in subject.equations]:
            rows += ["$$\\begin{aligned}", " \\\\\n".join(found), "\\end{aligned}$$"]
    return "\n".join(rows)


def _subject(subject: Subject, first: bool) -> list[str]:
    words = summary(subject.function).replace("`", "")
    doc = " ".join((subject.function.doc or "").split()) if first else ""
    text = f"\\paragraph{{{escaped(subject.name)}}} {escaped(words)}"
    rows = [text, *[escaped(doc)] * bool(doc)]
    told = [_equation(e) for e in subject.equations]
    if told:
        rows += [r"\begin{align*}", " \\\\\n".join(told), r"\end{align*}"]
    return rows


def _equation(told: Equation) -> str:
    text = f"{formula(left_side(told))} &= {formula(read(told.body))}"
    text += r",\; \text{else } 0" * told.tied
    ranges = ",\\; ".join(
        rf"0 \le {index} < {formula(read(str(dim)))}" for index, dim in told.free
    )
    return text + (rf", \quad {ranges}" if ranges else "")


def escaped(text: str) -> str:
    """Return any text as LaTeX that prints it."""
    plain = escape(text).replace("\\\\", "\\")
    return "".join(_ESCAPES.get(c, c) for c in plain)


def _comment(text: str) -> str:
    return " ".join(escape(text).split())


def formula(tree: Tree) -> str:
    """Return a formula as LaTeX."""
    match tree:
        case Name(text=text):
            return _name(text)
        case Number(text=text):
            return text
        case Raw(text=text):
            return rf"\texttt{{{escaped(text)}}}"
        case Entry(base=base, indices=indices):
            return f"{{{formula(base)}}}_{{{_listed(indices)}}}"
        case Apply():
            return _apply(tree)
        case Group(kind=kind, inside=inside):
            left, right = _BRACKETS[kind]
            return rf"\left{left}{_listed(inside)}\right{right}"
        case Sign(index=index, low=low, high=high, body=body, if_=conditions):
            more = "".join(rf",\; {formula(x)}" for x in conditions)
            limits = f"_{{{index}={formula(low)}{more}}}^{{{formula(high)}}}"
            return rf"\sum{limits} {formula(body)}"
        case Unary(operator=operator, operand=operand):
            sign = r"\neg " if operator == "~" else operator
            return sign + formula(operand)
        case Binary():
            return _binary(tree)


def _name(text: str) -> str:
    text = SPELLED.get(text, text)
    if text in GREEK:
        return f"\\{text}"
    if text == "inf":
        return r"\infty"
    letter, digits = text[:1], text[1:]
    if digits.isdigit():
        return f"{letter}_{{{digits}}}"
    return text if len(text) == 1 and text != "?" else rf"\mathit{{{escaped(text)}}}"


def _listed(parts: Sequence[Tree]) -> str:
    return ", ".join(map(formula, parts))


def _apply(tree: Apply) -> str:
    inside = _listed(tree.arguments)
    if tree.function == "sqrt":
        return rf"\sqrt{{{inside}}}"
    if tree.function == "abs":
        return rf"\left|{inside}\right|"
    known = tree.function in _FUNCTIONS
    name = (
        f"\\{tree.function}" if known else rf"\operatorname{{{escaped(tree.function)}}}"
    )
    over = f"_{{{tree.over}}}" if tree.over else ""
    return rf"{name}{over}\left({inside}\right)"


def bare(tree: Tree) -> Tree:
    """A tree without parentheses around all of it, where a line or a place holds it."""
    if isinstance(tree, Group) and tree.kind == "(" and len(tree.inside) == 1:
        return tree.inside[0]
    return tree


def _binary(tree: Binary) -> str:
    if tree.operator == "/":
        return rf"\frac{{{formula(bare(tree.left))}}}{{{formula(bare(tree.right))}}}"
    if tree.operator == "**":
        return f"{{{formula(tree.left)}}}^{{{formula(bare(tree.right))}}}"
    operator = _OPERATORS.get(tree.operator, tree.operator)
    if tree.operator == "*" and isinstance(tree.right, Number | Unary):
        operator = r"\cdot "
    return f"{formula(tree.left)} {operator} {formula(tree.right)}"
