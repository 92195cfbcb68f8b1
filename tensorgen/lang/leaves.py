"""What a file is given: its inputs, unknowns and dims, as nodes and by their names."""

from __future__ import annotations

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Lookup, Node, delta
from tensorgen.lang.scope import Record, Thing
from tensorgen.operators.functions.array import Array
from tensorgen.spec.model import InputSpec, Spec
from tensorgen.spec.names import in_spec


def inputs_of(spec: Spec, graph: Graph) -> dict[str, Node]:
    """Return the inputs of a file, and those that stand for its unknowns."""
    found: dict[str, Node] = {}
    for i in (part for given in spec.inputs for part in given.parts):
        of = None if i.pairs is None else found[i.pairs]
        properties = sorted(i.properties)
        found[i.name] = graph.input(i.name, i.shape, properties, i.index, of)
    for own in (x.given for x in spec.unknowns):
        found[own.name] = graph.input(own.name, own.shape)
    return found


def sparse(graph: Graph, given: InputSpec, inputs: dict[str, Node]) -> Node:
    """Return a sparse matrix as a node: its entries, each where it stands."""
    values, *places = (inputs[given.part(x)] for x in ("values", "rows", "columns"))
    entry = len(places)
    return graph.product(
        range(entry),
        [(values, (entry,))],
        constraints=[
            delta({axis: 1, Lookup(place, (entry,)): -1})
            for axis, place in enumerate(places)
        ],
        sizes=dict(enumerate(given.shape)),
    )


def leaves_of(spec: Spec, graph: Graph, inputs: dict[str, Node]) -> dict[str, Thing]:
    """Return what the names of inputs and dims stand for."""
    things: dict[str, Thing] = {}
    for i in spec.inputs:
        node = sparse(graph, i, inputs) if i.sparse else inputs[i.name]
        record = Record(inputs={i.name: None})
        things[i.name] = Thing("an input", Array(node), record)
    symbols = [name for name, _ in spec.hints]
    for i in (*spec.inputs, *(x.given for x in spec.unknowns)):
        dims = (*i.shape, *(() if i.index is None else (i.index,)))
        symbols += [name for dim in dims for name in dim.symbols]
    for name in dict.fromkeys(symbols):
        dim = Dim.symbol(name)
        thing = Thing("a dim", Array(graph.size(dim)), dim=dim)
        things.setdefault(in_spec(name), thing)
    return things
