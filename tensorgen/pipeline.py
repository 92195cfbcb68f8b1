"""The stages from a spec to its modules, in order: the front door for a reader.

| stage    | from                | to                                              |
|----------|---------------------|-------------------------------------------------|
| spec     | the text of a file  | a checked `Spec`, expressions still text        |
| lang     | `Spec`              | nodes of one graph, one a function              |
| calculus | a function's node   | nodes of its derivatives, often in several ways |
| passes   | those               | the cheapest plan: products in pairs, shared    |
| lower    | a plan              | `Code`: statements over named buffers           |
| emit     | `Code`              | the text of a module, laid out                  |
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from tensorgen import __version__
from tensorgen.calculus.expressions import Differentiate
from tensorgen.calculus.requests import MODES, Mode
from tensorgen.emit import write as write  # the command line's way to it
from tensorgen.emit.backends import BACKENDS, Backend
from tensorgen.emit.model import Body, Function, Helper, Module
from tensorgen.emit.render import render
from tensorgen.errors import Source
from tensorgen.ir.graph import Graph
from tensorgen.ir.printer import equation
from tensorgen.lang import elaborate
from tensorgen.lower import lower
from tensorgen.operators.helpers import HELPERS
from tensorgen.operators.stable import StableForms
from tensorgen.planner import PlannedFunction, Planner, check_requests
from tensorgen.spec.model import Spec
from tensorgen.spec.read import read_spec


def compile_spec(
    source: Source, backends: Sequence[str] | None, mode: str
) -> dict[str, str]:
    """Return the text of each generated file by its name.

    Raises `SpecError` with every fault of the spec.
    """
    chosen = _mode(mode)
    spec = read_spec(source)
    graph = Graph(StableForms())
    program = elaborate(spec, graph, Differentiate(graph))
    check_requests(program)
    plans = [
        plan
        for function in program.functions
        for plan in Planner(graph, spec, program, function, chosen).plans()
    ]
    texts = {}
    for name in backends or spec.backends:
        backend = BACKENDS[name]
        texts[backend.file_name(spec.module)] = render(
            _module(spec, graph, plans, backend)
        )
    return texts


def _mode(name: str) -> Mode:
    for mode in MODES:
        if mode == name:
            return mode
    raise ValueError(f"there is no mode {name!r}; there are {', '.join(MODES)}")


def _module(
    spec: Spec, graph: Graph, plans: Sequence[PlannedFunction], backend: Backend
) -> Module:
    return Module(
        spec.module,
        spec.source.name,
        hashlib.sha256(spec.source.text.encode()).hexdigest(),
        __version__,
        backend.name,
        tuple(_function(graph, plan, backend) for plan in plans),
        spec.doc,
        tuple(_helper(name, source, backend) for name, source in HELPERS.items()),
        tuple(
            f.name for f in spec.functions if any(e.kind == "problem" for e in f.emit)
        ),
    )


def _helper(name: str, source: str, backend: Backend) -> Helper:
    return Helper(name, re.sub(r"\bnp\b", backend.alias, source).strip())


def _function(graph: Graph, planned: PlannedFunction, backend: Backend) -> Function:
    function = planned.source
    code = lower(
        graph,
        planned.plan.roots,
        reserved=[p.name for p in planned.parameters],
        root_names=planned.root_names,
        alias=backend.alias,
    )
    lines = code.lines
    if code.needs_dtype:
        floating = [p.name for p in planned.parameters if p.index is None]
        dtype = f"{floating[0]}.dtype" if floating else "float"
        lines = (f"dtype = {dtype}", *lines)
    body = Body(
        lines,
        code.returns,
        code.dims,
        helpers=code.helpers,
        modules=code.modules,
    )
    formulas = tuple(
        equation(name, node, graph.names)
        for name, node in zip(planned.root_names, planned.plan.formulas, strict=True)
    )
    return Function(
        function.spec.name,
        planned.kind,
        planned.parameters,
        planned.wrt,
        function.node.dims,
        body,
        function.spec.doc,
        _formula(planned),
        formulas,
        formulas,
        planned.order,
    )


def _formula(planned: PlannedFunction) -> tuple[str, ...]:
    """The text of the function: its local values, then itself."""
    spec = planned.source.spec
    indices = ", ".join(map(str, spec.indices or ()))
    left = f"{spec.name}[{indices}]" if indices else spec.name
    rows = [f"{local.left} = {local.formula}" for local in planned.source.locals]
    return (*rows, f"{left} = {spec.expr}")
