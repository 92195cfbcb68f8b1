"""The shapes of expressions over the inputs of a spec, as the language proves them."""

from __future__ import annotations

from collections.abc import Collection

from tensorgen.calculus.differentiate import Differentiate
from tensorgen.errors import Faults, Text
from tensorgen.ir.dims import Dim
from tensorgen.ir.effort import READING, Effort
from tensorgen.ir.graph import Graph
from tensorgen.lang.leaves import inputs_of, leaves_of
from tensorgen.lang.prelude import prelude
from tensorgen.lang.read_parts import read_value
from tensorgen.lang.scope import Names, Record, Thing
from tensorgen.lang.statement import Session, Statement
from tensorgen.lang.syntax import parse
from tensorgen.operators.functions.array import Array
from tensorgen.operators.stable import StableForms
from tensorgen.spec.model import Spec

_SHORTER = "cut the function into several"


class KnownShapes:
    """Elaborates texts over the inputs of a spec, and names defined by such texts."""

    def __init__(self, spec: Spec, of: Text, variables: Collection[str]) -> None:
        """Know the inputs; `of` is the name of what takes too long, if it does."""
        self._graph = Graph(StableForms(), Effort())
        inputs = inputs_of(spec, self._graph)
        self._names = Names(leaves_of(spec, self._graph, inputs))
        differentiate = Differentiate(self._graph, set(variables))
        self._session = Session(
            self._graph, differentiate, Faults(), prelude(), read_value
        )
        self._of = of
        self._found: dict[str, tuple[Array, Record]] = {}

    def shape(self, text: Text) -> tuple[Dim, ...]:
        """Return the shape of an expression; raises `SpecError` where it is wrong."""
        return self._elaborated(text)[0].shape

    def define(self, name: str, text: Text) -> None:
        """Let a name stand for the value of an expression; raises as `shape` does."""
        value, record = self._elaborated(text)
        self._names.local[name] = Thing("a local definition", value, record)

    def _elaborated(self, text: Text) -> tuple[Array, Record]:
        # Names are given once, so that a text has the same value wherever it stands.
        if text.value in self._found:
            return self._found[text.value]
        faults = self._session.faults = Faults()
        expression = parse(text, faults)
        value = None
        if expression is not None:
            statement = Statement(self._session, expression, self._names)
            with self._graph.effort.on(self._of, "reading it", READING, _SHORTER):
                value = statement.elaborate(())
        faults.raise_if_any()
        assert value is not None
        found = self._found[text.value] = value, statement.record
        return found
