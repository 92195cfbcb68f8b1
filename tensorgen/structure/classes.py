"""Derivative classes specialised to a structure: a few straight lines a method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.needs import Needs
from tensorgen.arrays.object_operations import Answer, Made
from tensorgen.arrays.operations import Fill, Index, Size
from tensorgen.arrays.places import Entries
from tensorgen.arrays.statements import Scatter, Unpack
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Input
from tensorgen.ir.views import Factor
from tensorgen.structure.coordinates import COUNT, Sides, entry_places, entry_values
from tensorgen.structure.delta_solvers import no_entries
from tensorgen.structure.gram import attribute
from tensorgen.structure.methods import OPERAND, Body, Method, Structure
from tensorgen.structure.structure_words import higher_words, words
from tensorgen.structure.structures import solved, templates
from tensorgen.structure.ways import ties_rows

HESSIAN_BASE = "_StructuredHessian"
MATRIX_BASE = "_Structured"
FEW_HESSIAN_BASE = "_SparseHessian, _SparseBlock"
FEW_MATRIX_BASE = "_SparseBlock"
DERIVATIVE_BASE = "_StructuredDerivative"


@dataclass(frozen=True, slots=True)
class StructuredClass:
    """A derivative class: its arrays, sizes and methods.

    `structure` is an equation, which has a name in `words`.
    `rows` is the shape of f, or of the first input; `columns` has that of each other
    input. `ease` ranks what a solve costs, if there is a better way than the
    dense matrix; `factorizations` are the templates that it takes. What it holds does
    not exist unless the sizes `positive` are at least 1. The fields `integers` are
    index arrays. It multiplies `by_matrices` if it makes sparse ones of its arrays.
    A multiple of it is made by multiplying the fields `linear`; without these, by a
    number that its methods read.
    """

    name: str
    base: str
    structure: str
    fields: tuple[str, ...]
    sizes: tuple[str, ...]
    rows: tuple[Dim, ...]
    columns: tuple[tuple[Dim, ...], ...]
    methods: tuple[Method, ...]
    ease: int | None = None
    factorizations: tuple[str, ...] = ()
    vanishes: bool = False
    sparse: bool = False
    positive: tuple[str, ...] = ()
    integers: tuple[str, ...] = ()
    by_matrices: bool = False
    words: str = ""
    linear: tuple[str, ...] | None = None

    @property
    def few(self) -> bool:
        """Whether it is a block of a joint Hessian with few entries in every row."""
        return self.base in (FEW_HESSIAN_BASE, FEW_MATRIX_BASE)

    def helpers(self, alias: str) -> set[str]:
        """The functions of modules that its methods call, for an array module."""
        needs = (Needs(method.body, alias=alias) for method in self.methods)
        return {name for found in needs for name in found.helpers}


def matrix_class(structure: Structure, name: str, hessian: bool) -> StructuredClass:
    """The class of a Jacobian, a block, or a Hessian."""
    row_axes = tuple(range(structure.rows))
    column_axes = tuple(range(structure.rows, structure.axes))
    way = solved(structure) if hessian and not structure.tensor.vanishes else None
    methods = [
        *_matrices(structure),
        _dense(structure, row_axes, column_axes),
        _apply(structure, "_apply", row_axes, column_axes, way and way[0].product),
    ]
    if hessian:
        tied = {structure.rows + k: k for k in range(structure.rows)}
        doc = "Return the diagonal, shaped like x."
        methods.append(structure.method("diagonal", doc, row_axes, rename=tied))
    else:
        methods.append(_apply(structure, "_apply_transposed", column_axes, row_axes))
    methods += _entries(structure, (row_axes, column_axes))
    if way is not None:
        row, solution = way
        doc = "Return a factorization of H + shift I by its structure, not yet checked."
        methods.append(
            Method(
                "_factorized",
                "self, shift: float",
                row.factorization,
                doc,
                solution.body,
            )
        )
    return replace(
        _matrix(structure, name, hessian, methods),
        base=HESSIAN_BASE if hessian else MATRIX_BASE,
        ease=None if way is None else way[0].ease,
        factorizations=() if way is None else templates(*way),
        sparse=all(ties_rows(structure, term) for term in structure.tensor.terms),
        positive=structure.sizes if way is not None and way[0].keep is not None else (),
        integers=structure.integers,
    )


def _matrices(structure: Structure) -> list[Method]:
    """The sparse matrices that a class multiplies by, made of their entries."""
    found = {}
    for label, name in structure.matrices.items():
        parts = [(x, structure.stored[x]) for x in label.by]
        entries = [variable(x.name, x.dims) for _, x in parts if isinstance(x, Input)]
        sides = [array(Size(dim)) for dim in label.shape]
        made = array(Made("_by_rows"), *entries, *sides)
        body = Body(structure).returning(made)
        found[name] = Method(attribute(name), "self", "_Entries", "", body, cached=True)
    return [*found.values()]


def _dense(structure: Structure, rows: Sequence[int], columns: Sequence[int]) -> Method:
    """The whole tensor; of products of sparse matrices all entries at once."""
    doc = "Return the derivative as a new array of shape `tensor_shape`."
    if not structure.matrices:
        return structure.method("dense", doc, (*rows, *columns))
    body = Body(structure)
    names = "rows", "columns", "values"
    body.statements.append(Unpack(names, array(Answer("coo"))))
    *places, values = (variable(name, COUNT) for name in names)
    dims = structure.tensor.dims
    whole = body.let("result", array(Fill(dims, 0)))
    at = Index((Entries(),) * len(dims), COUNT)
    by_entry = structure.slow_at
    body.statements.append(Scatter(whole, at, (*places,), values, by_entry))
    return Method("dense", "self", "Array", doc, body.returning(whole))


def _matrix(
    structure: Structure, name: str, hessian: bool, methods: Sequence[Method]
) -> StructuredClass:
    """What the classes of matrices have in common."""
    return StructuredClass(
        name,
        "",
        structure.text("H" if hessian else "J"),
        structure.fields,
        structure.sizes,
        structure.tensor.shape[: structure.outer_rows],
        (structure.tensor.shape[structure.outer_rows :],),
        tuple(methods),
        vanishes=structure.tensor.vanishes,
        by_matrices=bool(structure.matrices),
        words=words(structure),
        linear=structure.linear,
    )


def few_class(structure: Structure, name: str, hessian: bool) -> StructuredClass:
    """The class of a block of a joint Hessian all of whose rows have few entries.

    All that it offers follows from its entries.
    """
    rows = tuple(range(structure.rows))
    columns = tuple(range(structure.rows, structure.axes))
    methods = [*_matrices(structure), *_entries(structure, (rows, columns))]
    return replace(
        _matrix(structure, name, hessian, methods),
        base=FEW_HESSIAN_BASE if hessian else FEW_MATRIX_BASE,
        factorizations=("sparse",),
        sparse=True,
    )


def _apply(
    structure: Structure,
    name: str,
    out: Sequence[int],
    contracted: Sequence[int],
    product: Callable[[Structure], Array] | None = None,
) -> Method:
    """The product with `width` arrays side by side, on the last axis."""
    doc = "Multiply by arrays concatenated on the last axis."
    parameters = f"self, {OPERAND}: Array"
    if product is not None:
        body = Body(structure).returning(product(structure))
        return Method(name, parameters, "Array", doc, body)
    dims = structure.whole_dims([*contracted, "width"])
    operand = structure.graph.input(OPERAND, dims)
    by = [(operand, (*contracted, "width"))]
    return structure.method(name, doc, (*out, "width"), by, parameters=parameters)


def _entries(structure: Structure, sides: Sides) -> list[Method]:
    """What the entries are, and where; of what vanishes there are none."""
    if structure.tensor.vanishes:
        values, places = no_entries(structure)
    else:
        values, places = entry_values(structure, sides), entry_places(structure, sides)
    return [
        Method("_values", "self", "list[Array]", "", values),
        Method("_places", "self", "list[tuple[Any, ...]]", "", places),
    ]


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
        structure.tensor.dims[: structure.rows],
        tuple(
            structure.tensor.dims[start : start + axes]
            for start, axes in zip(starts, inputs, strict=True)
        ),
        tuple(methods),
        integers=structure.integers,
        words=higher_words(structure),
        linear=structure.linear,
    )
