"""A spec that is put together in Python: `tensorgen.Spec`.

It writes YAML, and the reader of specs judges that: so it means what the text means,
and faults point at the text, or into the file of a function over NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorgen.errors import Source, SpecError, Text, fail
from tensorgen.frontends.declared_shapes import Declared, read_shape
from tensorgen.frontends.decorated_function import DecoratedFunction
from tensorgen.frontends.made_spec import MadeSpec
from tensorgen.frontends.spec_parts import FunctionPart, InputPart, Lines, SpecParts
from tensorgen.frontends.spec_text import SpecText
from tensorgen.spec.written_scalars import Flow, flow

Shape = str | Sequence[str | int]


class Spec(MadeSpec):
    """A spec, section by section; each method adds to it and returns it.

    Shapes are written `"m n"`, or as a list of sizes; words behind sizes promise what
    inputs are: `"n n spd"`, `"m int < k"`, `"m n sparse"`, `"n batch: B"`.
    """

    def __init__(
        self,
        module: str,
        doc: str | None = None,
        dims: Mapping[str, int | None] | None = None,
    ) -> None:
        """Begin a module, with typical sizes of dims if there are any."""
        self._parts = SpecParts(module, doc, dict(dims or {}))

    def __repr__(self) -> str:
        return f"<tensorgen spec {self._parts.module}>"

    def dims(self, **sizes: int | None) -> Spec:
        """Add dims, with typical sizes or None."""
        self._parts.dims |= sizes
        return self

    def input(
        self,
        name: str,
        shape: Shape = "",
        *,
        default: float | str | None = None,
        batch: str | None = None,
        doc: str | None = None,
    ) -> Spec:
        """Add an input; raises `SpecError` where its shape cannot be read.

        With `batch="B"` its shape is that of one sample, of which callers give B.
        """
        given = shape if isinstance(shape, str) else ", ".join(map(str, shape))
        given += f" batch: {batch}" if batch is not None else ""
        declared = read_shape(Text.plain(given, f"shape of {name}"))
        number = None if default is None else str(default)
        entry = declared.written(number, doc)
        part = InputPart(name, entry, declared.written(number))
        self._parts.inputs.append(part)
        return self

    def unknown(self, name: str, shape: Shape, **given: str) -> Spec:
        """Add an unknown: its `equation`, `fixed_point` or `minimises`, and `start`.

        Raises `SpecError` where its shape is more than sizes.
        """
        text = shape if isinstance(shape, str) else ", ".join(map(str, shape))
        own = Text.plain(text, f"shape of {name}")
        declared = read_shape(own)
        if declared != Declared(declared.sizes):
            fail("an unknown has sizes, and nothing is promised of it", own.span())
        self._parts.unknowns[name] = {"shape": [*declared.sizes], **given}
        return self

    def definition(self, left: str, expression: str) -> Spec:
        """Add a definition for all functions: `soft(t, d)`, `K[i, j]` or a name."""
        self._parts.definitions.append((left, expression))
        return self

    def function(
        self,
        function: str | DecoratedFunction,
        expr: str | Mapping[str, str] = "",
        *,
        wrt: str | Sequence[str] | Mapping[str, Flow] = (),
        emit: Sequence[Flow] = (),
        where: str | Mapping[str, str] = "",
        doc: str | None = None,
    ) -> Spec:
        """Add a function: its left side and expression, or a decorated function.

        Several results are a mapping of their expressions. `where` is a text of lines,
        or a mapping of left sides to expressions. Of a decorated function the inputs
        and dims are added that are not there yet.
        """
        if isinstance(function, DecoratedFunction):
            self._take(function)
            return self
        lines: Lines = where if isinstance(where, str) else [*where.items()]
        by: Flow = [wrt] if isinstance(wrt, Mapping) else wrt
        part = FunctionPart(
            function,
            expr,
            doc,
            lines,
            flow(by) if by else "",
            flow([*emit]) if emit else "",
        )
        self._parts.functions.append(part)
        return self

    def problem(
        self,
        *,
        variables: Sequence[str] | Mapping[str, Flow],
        minimize: str | None = None,
        maximize: str | None = None,
        constraints: Sequence[str] | Mapping[str, Flow] = (),
        name: str | None = None,
        doc: str | None = None,
        sensitivity: Sequence[str] = (),
    ) -> Spec:
        """State the constrained problem over the functions, with bounds as in files.

        `sensitivity` are the data of which it says how the optimum moves with them.
        """
        given = {"name": name, "doc": doc, "minimize": minimize, "maximize": maximize}
        found: dict[str, Flow] = {x: own for x, own in given.items() if own is not None}
        found["variables"] = variables
        if constraints:
            found["constraints"] = constraints
        if sensitivity:
            found["sensitivity"] = [*sensitivity]
        self._parts.problem = found
        return self

    def to_yaml(self) -> str:
        """Return the spec as the text of a file."""
        return self._text().text

    def _take(self, function: DecoratedFunction) -> None:
        own = function.parts
        known = {(str(x.name), x.meaning) for x in self._parts.inputs}
        for x in own.inputs:
            if (str(x.name), x.meaning) not in known:
                self._parts.inputs.append(x)
        self._parts.dims = {**own.dims, **self._parts.dims}
        self._parts.functions += own.functions

    def _text(self) -> SpecText:
        return self._parts.written(f"<spec {self._parts.module}>")

    def _source(self) -> Source:
        return self._text().source

    def _about(self, error: SpecError) -> SpecError:
        return self._text().told(error)
