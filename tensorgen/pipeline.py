"""The stages from a spec to its modules, in order: the front door for a reader.

| stage     | from                | to                                              |
|-----------|---------------------|-------------------------------------------------|
| spec      | the text of a file  | a checked `Spec`, expressions still text        |
| lang      | `Spec`              | nodes of one graph, one a function              |
| calculus  | a function's node   | nodes of its derivatives, often in several ways |
| passes    | those               | the cheapest plan: products in pairs, shared    |
| lower     | a plan              | `Code`: statements over named buffers           |
| structure | a derivative tensor | what is held of it, and its class               |
| emit      | `Code`, classes     | the text of a module, laid out                  |
| check     | statements as text  | nothing: they compute what calculus states      |
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING

from tensorgen.calculus.requests import MODES, Mode
from tensorgen.emit import write as write  # the command line's way to it
from tensorgen.emit.backends import BACKENDS
from tensorgen.emit.render import render
from tensorgen.emit.support import support_code, support_file
from tensorgen.emit.uptodate import inputs, support_prefix
from tensorgen.errors import Remark, Source
from tensorgen.lang import program_of
from tensorgen.plans.build_module import ModuleBuilder
from tensorgen.plans.constrained_plans import plan_constrained
from tensorgen.plans.kept_calls import beside_calls
from tensorgen.plans.planner import Planner, known_sizes
from tensorgen.plans.problem_plans import plan_problem
from tensorgen.plans.remarks import hurried, remarks
from tensorgen.plans.rows_in_blocks import refusals, rows_of, with_pieces
from tensorgen.spec.externals import check_backends
from tensorgen.spec.model import Spec
from tensorgen.spec.read import read_spec

if TYPE_CHECKING:
    from tensorgen.check import Report


@contextmanager
def seldom_collected(young: int = 200_000) -> Iterator[None]:
    """Look for dead objects only after so many new ones.

    Nodes live until the end: to look for dead ones more often takes a fifth.
    """
    own, *older = gc.get_threshold()
    gc.set_threshold(own and max(own, young), *older)
    try:
        yield
    finally:
        gc.set_threshold(own, *older)


@seldom_collected()
def compile_spec(
    source: Source,
    backends: Sequence[str] | None,
    mode: str,
    laid_out: bool = True,
    watch: Callable[[str], None] | None = None,
    checked: bool = True,
    note: Callable[[Remark], None] = lambda remark: None,
    report: Callable[[str, Report], None] = lambda name, report: None,
    support: str | None = None,
    in_package: bool = False,
    allow_external: bool = False,
) -> dict[str, str]:
    """Return the text of each generated file by its name, laid out for a reader.

    Raises `SpecError` with every fault of the spec, and `InternalError` if a function
    raises or does not compute what calculus states, if `checked`. `watch` hears what is
    being done, `note` what is worth to be known, `report` what the check found of each
    file. `in_package`, modules import "shared" `support` code as their sibling.
    """
    chosen = _mode(mode)
    spec = _read(source, backends, allow_external)
    graph, program = program_of(spec, watch)
    effort = graph.effort
    planners = [Planner(graph, spec, program, f, chosen) for f in program.generated]
    plans = [planner.plans() for planner in planners]
    rows = rows_of(spec, program, planners, plans)
    # Problems come last: nodes made for them have no say in the functions' text.
    problems = [x for x in map(plan_problem, planners, plans) if x is not None]
    constrained = plan_constrained(graph, spec, program, chosen)
    planned = with_pieces(beside_calls(graph, spec, plans, chosen), rows)
    late = hurried(effort.late, program.generated) if effort.late else ()
    told = (*program.remarks, *late, *refusals(spec, rows))
    for remark in (*told, *remarks(planned, known_sizes(spec))):
        note(remark)
    texts = dict[str, str]()
    warn = cache(note)  # once, whatever the backends
    prefix = support_prefix(spec, support, in_package)
    for name in backends or spec.backends:
        backend = BACKENDS[name]
        module = ModuleBuilder(spec, graph, backend).build(
            planned, problems, constrained, program.unknowns, rows
        )
        file_name = backend.file_name(spec.module)
        tell = partial(effort.tell, f"laying out {file_name}")
        made_of = inputs(source, name, chosen, prefix)
        made = {file_name: render(module, laid_out, tell, prefix, made_of)}
        if prefix is not None:
            support = support_code(name, module.version, laid_out)
            made = {support_file(backend): support, **made}
        if checked:
            effort.tell(f"checking {file_name}")
            # Imported here: who is in a hurry needs no NumPy.
            from tensorgen.plans.claims import held

            own = program, planned, problems, constrained, module
            report(file_name, held(*own, backend, made, warn))
        texts |= {file_name: made[file_name], **made}
    graph.forget()
    return texts


def _read(source: Source, backends: Sequence[str] | None, allow_external: bool) -> Spec:
    spec = read_spec(source, allow_external)
    check_backends(spec.externals, backends or spec.backends)
    return spec


def _mode(name: str) -> Mode:
    for mode in MODES:
        if mode == name:
            return mode
    raise ValueError(f"there is no mode {name!r}; there are {', '.join(MODES)}")
