"""Docstrings of generated functions: formula, arguments, result, structure, errors."""

from __future__ import annotations

from collections.abc import Iterable

from tensorgen.emit.arguments import shape_text
from tensorgen.emit.model import Function, Kind, Parameter, pairs
from tensorgen.emit.text import WIDTH, docstring, equation, paragraph
from tensorgen.ir.dims import Dim

EVIDENT = 300
"""The longest structure that is repeated where its class is returned."""

_SUMMARIES: dict[Kind, str] = {
    "value": "Value of `{f}`.",
    "gradient": "Gradient of `{f}` with respect to {x}.",
    "value_and_gradient": "Value of `{f}` and its gradient with respect to {x}.",
    "jacobian": "Jacobian of `{f}` with respect to {x}.",
    "hessian": "Hessian of `{f}` with respect to {x}.",
    "value_gradient_hessian": (
        "Value of `{f}`, its gradient and its Hessian with respect to {x}."
    ),
    "dense_jacobian": "Jacobian of `{f}` with respect to {x}, as an array.",
    "dense_hessian": "Hessian of `{f}` with respect to {x}, as an array.",
    "hvp": "Hessian of `{f}` with respect to {x}, times a direction.",
    "jvp": "Value of `{f}` and its derivative along a direction.",
    "vjp": "Value of `{f}` and its derivative weighted by a cotangent.",
    "order": "Derivative of order {k} of `{f}` with respect to {x}.",
    "mixed": "Derivative of `{f}` with respect to {order}, in this order.",
}


def function_docstring(function: Function) -> str:
    """Return the docstring of a generated function, quotes included."""
    formulas = (*function.formula, *function.derivatives)
    return docstring(
        [_summary(function)],
        paragraph(function.doc) if function.doc else [],
        [row for text in formulas for row in equation(text)],
        [
            *_arguments(function),
            *_section("Returns", _result(function)),
            *_structure(function),
            *_section("Raises", _errors(function)),
        ],
    )


def _summary(function: Function) -> str:
    """Return the first line, with as many names of inputs as fit."""
    for shown in range(len(function.wrt), -1, -1):
        text = _SUMMARIES[function.kind].format(
            f=function.function,
            x=_listing(function.wrt, shown),
            k=len(function.order),
            order=_listing(function.order),
        )
        if len(text) + len('    """') <= WIDTH:
            break
    return text


def _listing(names: tuple[str, ...], shown: int | None = None) -> str:
    """Return names in a row, or the first few and how many others there are."""
    quoted = [f"`{name}`" for name in names]
    if shown is not None and shown < len(names):
        others = len(names) - shown
        quoted[shown:] = [f"{others} {'others' if shown else 'inputs'}"]
    return " and ".join([", ".join(quoted[:-1]), *quoted[-1:]][len(quoted) < 2 :])


def _section(title: str, entries: Iterable[str]) -> list[str]:
    rows: list[str] = []
    for text in entries:
        indent = " " * (4 + len(text) - len(text.lstrip(" ")))
        rows += paragraph(text, indent, "    ")
    return [f"{title}:", *rows] if rows else []


def _arguments(function: Function) -> list[str]:
    rows: list[str] = []
    for parameter in (p for group in function.signature for p in group):
        rows += paragraph(_argument(parameter), "    ", "    ")
        if parameter.doc:
            rows += paragraph(parameter.doc, "        ")
    return ["Arguments:", *rows] if rows else []


def _argument(parameter: Parameter) -> str:
    text = f"{parameter.name} : {shape_phrase(parameter.dims)}"
    if parameter.index is not None:
        bound = parameter.index - 1
        text = f"{parameter.name} : integers in 0 ... {bound}"
        text += f", shape {shape_text(parameter.dims)}"
    if parameter.default is not None:
        text += f", {parameter.default} by default"
    return text


def shape_phrase(dims: tuple[Dim, ...]) -> str:
    """Return "scalar" or "array, shape (m, n)"."""
    return f"array, shape {shape_text(dims)}" if dims else "scalar"


def _result(function: Function) -> list[str]:
    kind, dims = function.kind, function.dims
    value = f"value: {shape_phrase(dims)}"
    gradients = _per_input("gradient", function, ())
    hessian = "Hessian: an object with dense(), matvec(), solve() and more"
    if len(function.wrt) > 1:
        hessian += ", over the inputs raveled and concatenated"
    parts: dict[Kind, list[str]] = {
        "value": [shape_phrase(dims)],
        "gradient": _per_input("", function, ()),
        "value_and_gradient": [value, *gradients],
        "value_gradient_hessian": [value, *gradients, hessian],
        "hessian": [hessian],
        "hvp": _per_input("", function, ()),
        "jvp": [value, f"derivative: {shape_phrase(dims)}"],
        "vjp": [value, *_per_input("cotangent", function, ())],
        "jacobian": _per_input("an object with dense(), matvec() and more", function),
        "dense_jacobian": _per_input("", function),
        "dense_hessian": _dense_hessian(function),
    }
    return parts.get(kind) or [_tensor(function)]


def _per_input(
    what: str, function: Function, dims: tuple[Dim, ...] | None = None
) -> list[str]:
    """Describe one array for each `wrt` input, of shape `dims + x.shape`."""
    before = function.dims if dims is None else dims
    shapes = [shape_phrase(before + function.parameter(x).dims) for x in function.wrt]
    lead = f"{what}: " if what else ""
    if len(function.wrt) == 1:
        return [lead + shapes[0]]
    fields = [f"{x}: {shape}" for x, shape in zip(function.wrt, shapes, strict=True)]
    return [f"{lead}a tuple with the fields", *("    " + field for field in fields)]


def _dense_hessian(function: Function) -> list[str]:
    shape = {x: function.parameter(x).dims for x in function.wrt}
    if len(function.wrt) == 1:
        (x,) = function.wrt
        return [shape_phrase(function.dims + shape[x] + shape[x])]
    return ["a dictionary from pairs of inputs, such as `('a', 'b')`, to arrays of"] + [
        f"    ('{a}', '{b}'): {shape_phrase(function.dims + shape[a] + shape[b])}"
        for a in function.wrt
        for b in function.wrt
    ]


def _tensor(function: Function) -> str:
    shapes = (function.parameter(x).dims for x in function.order)
    dims = function.dims + tuple(d for dims in shapes for d in dims)
    return f"an object with dense() of {shape_phrase(dims)}, and contract()"


def _structure(function: Function) -> list[str]:
    """Say what each object holds, by the names of its blocks where it has several."""
    texts = [
        h.structure if len(h.structure) <= EVIDENT else f"that of {h.class_name}"
        for h in function.holders
    ]
    if len(texts) > 1:
        names = [f"{a}, {b}" for a, b in pairs(function.wrt)]
        if function.kind == "jacobian":
            names = list(function.wrt)
        texts = [f"{name}: {text}" for name, text in zip(names, texts, strict=True)]
    rows = [row for text in texts for row in equation(text)]
    return ["Structure:", *rows] if rows else []


def _errors(function: Function) -> list[str]:
    if not function.parameters:
        return []
    indices = any(p.index is not None for p in function.parameters)
    errors = ["TypeError: an argument that is not real numbers."]
    if indices:
        errors.append("ValueError: a wrong shape, or an index that is out of range.")
    else:
        errors.append("ValueError: an argument of a wrong shape.")
    if function.body.refusals:
        found = " or ".join(function.body.refusals)
        errors.append(f"LinAlgError: a matrix that is {found}.")
    if function.body.modules:
        errors.append("ImportError: SciPy is not installed.")
    return errors
