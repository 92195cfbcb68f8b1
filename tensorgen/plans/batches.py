"""Functions over a batch: what is planned of one sample, for all samples.

Calculus differentiates a function of one sample; its derivatives, whole as they are,
get an axis of samples in front, and are planned with it. So the blocks of all samples
are stored, one behind the other, and never the matrix that has them on its diagonal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tensorgen.calculus.requests import Request
from tensorgen.check import Batch
from tensorgen.errors import Text, fail
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node
from tensorgen.ir.rebuild import substituted
from tensorgen.lang import ElaboratedFunction
from tensorgen.operators.batches import NoBatch, Samples, alike_in
from tensorgen.passes.steps.needed_states import lessened
from tensorgen.spec.model import InputSpec


def batch_of(graph: Graph, size: Dim, given: Sequence[Node], request: Request) -> Batch:
    """Return the batch of arguments that are `given` for one sample of a request.

    A direction in such an argument has all samples too, and so has a cotangent.
    """
    directions = [own for x, own in request.directions.items() if x in given]
    cotangents = [own.cotangent for own in (request, *request.results)]
    samples = (*given, *directions, *(ct for ct in cotangents if ct is not None))
    return Batch(size, {x: _of_all(graph, x, size) for x in samples})


def _of_all(graph: Graph, node: Node, size: Dim) -> Node:
    """The input that has all samples of what an input is for one."""
    assert isinstance(node, Input)
    return graph.input(node.name, (size, *node.dims), node.properties, node.index)


def over(graph: Graph, batch: Batch, nodes: Iterable[Node], name: Text) -> list[Node]:
    """Return nodes over all samples; a `SpecError` at a name if there are none."""
    roots = [*nodes]
    alike = alike_in(roots, batch.samples)
    roots = substituted(graph, roots, {x: lessened(graph, [x])[0] for x in alike})
    try:
        return Samples(graph, batch.size, batch.samples).all_of(roots)
    except NoBatch as refused:
        message = f"'{name}' has no batch: {refused}"
        fail(message, name.span(), hint="without 'batch', call it for each sample")


def function_over(
    graph: Graph, own: ElaboratedFunction, inputs: Mapping[str, Node]
) -> ElaboratedFunction:
    """Return a function as it is in code: of all samples, if it is of a batch."""
    if own.batch is None:
        return own
    given = [inputs[x.name] for x in own.arguments if x.batch is not None]
    batch = Batch(own.batch, {x: _of_all(graph, x, own.batch) for x in given})
    nodes = [own.node, *(x.node for x in own.locals)]
    node, *local = over(graph, batch, nodes, own.spec.name_text)
    return replace(
        own,
        node=node,
        arguments=tuple(map(_whole, own.arguments)),
        locals=tuple(
            replace(x, node=new) for x, new in zip(own.locals, local, strict=True)
        ),
        results=tuple(function_over(graph, x, inputs) for x in own.results),
        over=batch.size,
    )


def _whole(given: InputSpec) -> InputSpec:
    if given.batch is None:
        return given
    return replace(given, shape=(given.batch, *given.shape))
