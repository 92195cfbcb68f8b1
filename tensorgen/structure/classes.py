"""Derivative classes specialised to a structure: a few straight lines a method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tensorgen.arrays.written import Written
from tensorgen.ir.dims import Dim
from tensorgen.passes.views import Factor
from tensorgen.structure.coordinates import coordinate_lines
from tensorgen.structure.methods import Method, Structure
from tensorgen.structure.table import solved, templates
from tensorgen.structure.text import mentions, tuple_text
from tensorgen.structure.ways import ties_rows

HESSIAN_BASE = "_StructuredHessian"
MATRIX_BASE = "_Structured"
DERIVATIVE_BASE = "_StructuredDerivative"


@dataclass(frozen=True, slots=True)
class StructuredClass:
    """A derivative class: its arrays, sizes and methods."""

    name: str
    base: str
    structure: str
    fields: tuple[str, ...]
    sizes: tuple[str, ...]
    rows: str
    columns: str
    methods: tuple[Method, ...]
    ease: int | None = None
    factorizations: tuple[str, ...] = ()
    helpers: tuple[str, ...] = field(default=())
    vanishes: bool = False
    sparse: bool = False


def matrix_class(structure: Structure, name: str, hessian: bool) -> StructuredClass:
    """The class of a Jacobian, a block, or a Hessian."""
    row_axes = tuple(range(structure.rows))
    column_axes = tuple(range(structure.rows, structure.axes))
    methods = [
        structure.method(
            "dense",
            "Return the derivative as a new array of shape `tensor_shape`.",
            (*row_axes, *column_axes),
        ),
        _apply(structure, "_apply", row_axes, column_axes),
    ]
    if hessian:
        tied = {structure.rows + k: k for k in range(structure.rows)}
        doc = "Return the diagonal, shaped like x."
        methods.append(structure.method("diagonal", doc, row_axes, rename=tied))
    else:
        methods.append(_apply(structure, "_apply_transposed", column_axes, row_axes))
    methods.append(_coo(structure, row_axes, column_axes))
    way = solved(structure) if hessian and not structure.tensor.vanishes else None
    if way is not None:
        row, solution = way
        doc = "Return H + shift I, ready to solve; LinAlgError if it is singular."
        methods.append(
            Method(
                "factorize",
                "self, shift: float = 0.0",
                row.factorization,
                doc,
                solution.lines,
            )
        )
    return StructuredClass(
        name,
        HESSIAN_BASE if hessian else MATRIX_BASE,
        structure.text("H" if hessian else "J"),
        structure.fields,
        structure.sizes,
        _shape([structure.tensor.dims[a] for a in row_axes]),
        _shape([structure.tensor.dims[a] for a in column_axes]),
        tuple(methods),
        None if way is None else way[0].ease,
        () if way is None else templates(*way),
        structure.helpers(methods),
        structure.tensor.vanishes,
        all(ties_rows(structure, term) for term in structure.tensor.terms),
    )


def _apply(
    structure: Structure, name: str, out: Sequence[int], contracted: Sequence[int]
) -> Method:
    """The product with `width` arrays side by side, on the last axis."""
    width = structure.width
    dims = [*(structure.tensor.dims[a] for a in contracted), Dim.symbol(width)]
    operand = structure.graph.input("operand", dims)
    node = structure.tensor.contracted(
        structure.graph,
        structure.stored,
        (*out, "width"),
        [(operand, (*contracted, "width"))],
    )
    code = structure.code(node, "result", [width, "operand"], fresh=True)
    own = [f"{width} = operand.shape[-1]"] if _uses(code, width) else []
    return Method(
        name,
        "self, operand: Array",
        "Array",
        "Multiply by arrays that lie side by side on the last axis.",
        structure.lines(code, f"return {code.returns[0]}", own),
    )


def _coo(structure: Structure, rows: Sequence[int], columns: Sequence[int]) -> Method:
    lines = coordinate_lines(structure, rows, columns)
    return Method(
        "coo",
        "self, lower: bool = False",
        "tuple[Any, Any, Array]",
        "Return rows, columns and values; with `lower`, of the lower triangle only."
        "\n\nDuplicates add up; the pattern depends on shapes "
        f"{'and index arrays ' * bool(structure.indices)}alone.\n",
        tuple(lines),
    )


def higher_class(
    structure: Structure, name: str, inputs: Sequence[int]
) -> StructuredClass:
    """The class of a derivative of higher order; `inputs` has the axes of each."""
    starts = [structure.rows + sum(inputs[:k]) for k in range(len(inputs))]
    methods = [
        structure.method(
            "dense",
            "Return the derivative as a new array of shape `tensor_shape`.",
            range(structure.axes),
        )
    ]
    for count in range(1, len(inputs) + 1):
        others: list[Factor] = []
        names = []
        for k in range(len(inputs) - count, len(inputs)):
            axes = range(starts[k], starts[k] + inputs[k])
            names.append(f"x{k + 1}")
            dims = [structure.tensor.dims[a] for a in axes]
            others.append((structure.graph.input(names[-1], dims), tuple(axes)))
        out = range(starts[len(inputs) - count])
        parameters = ", ".join(["self", *(f"{n}: Array" for n in names)])
        doc = (
            "Contract the last input."
            if count == 1
            else (f"Contract the last {count} inputs.")
        )
        methods.append(
            structure.method(
                f"_contract_{count}", doc, out, others, parameters=parameters
            )
        )
    return StructuredClass(
        name,
        DERIVATIVE_BASE,
        structure.text("D"),
        structure.fields,
        structure.sizes,
        _shape(structure.tensor.dims[: structure.rows]),
        tuple_text(
            [
                _shape(structure.tensor.dims[s : s + n])
                for s, n in zip(starts, inputs, strict=True)
            ]
        ),
        tuple(methods),
        helpers=structure.helpers(methods),
    )


def _uses(code: Written, name: str) -> bool:
    return mentions("\n".join((*code.lines, *code.returns)), name)


def _shape(dims: Sequence[Dim]) -> str:
    return tuple_text([str(dim) for dim in dims])
