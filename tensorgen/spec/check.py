"""What holds between the parts of a file: names that would meet in one place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tensorgen.calculus.kinds import GRADIENT, JACOBIAN, VALUE, all_emitted, result_name
from tensorgen.errors import Text
from tensorgen.spec.model import Definition, FunctionSpec, ProblemSpec
from tensorgen.spec.names import Namespace, in_code


def check_names(
    dims: Iterable[str],
    definitions: tuple[Definition, ...],
    functions: tuple[FunctionSpec, ...],
    names: Namespace,
    problem: ProblemSpec | None,
) -> None:
    """Report names that clash beyond the one namespace of the file."""
    for index in _indices(definitions, names):
        names.check_index(index)
    for dim in dims:
        _check_size(dim, names)
    for function in functions:
        _check_local_names(function, names)
        _check_arguments(function, names)
    _check_emitted_names(functions, names)
    if problem is not None:
        _check_problem(problem, functions, names)


def _check_problem(
    problem: ProblemSpec, functions: tuple[FunctionSpec, ...], names: Namespace
) -> None:
    """Report a class that bears the name of something else."""
    owner, place = names.owners.get(problem.name, ("", problem.name_text))
    # With and without its last word: its points are called after the first.
    given = {problem.name, problem.name.removesuffix("Problem") + "Problem"}
    for function in functions:
        if given & {*emitted_names(function), *tuple_names(function)}:
            owner, place = f"emitted for '{function.name}'", function.name_text
    if owner:
        message = f"'{problem.name}' is what the problem's class is called, and {owner}"
        marks = ((place.span(), owner), (problem.name_text.span(), "the problem"))
        hint = "give the problem a 'name:' of its own"
        span = problem.name_text.span()
        names.faults.add(message, span, marks=marks, hint=hint)
    _check_sensitivity(problem, functions, names)


def _check_sensitivity(
    problem: ProblemSpec, functions: tuple[FunctionSpec, ...], names: Namespace
) -> None:
    """Report names that the function for sensitivities would need for itself."""
    emitted = {x for f in functions for x in (*emitted_names(f), *tuple_names(f))}
    for name in problem.made:
        if name in emitted or name in names.owners:
            message = f"'sensitivity' generates '{name}', which is a name already"
            hint = "give the problem a 'name:' of its own"
            names.faults.add(message, problem.name_text.span(), hint=hint)
    moved = (*(x.name_text for x in problem.variables), *problem.parameters)
    for text in moved if problem.parameters else ():
        what = f"the direction of '{text}'"
        _report_hidden(f"d{text}", what, "sensitivity", text, names)


def _check_size(dim: str, names: Namespace) -> None:
    """Report a dim that bears another name in code, which something else has."""
    owner, place = names.owners.get(in_code(dim), ("a dim", None))
    if in_code(dim) != dim and place is not None and owner != "a dim":
        message = f"'{in_code(dim)}' is what code calls the dim '{dim}', and {owner}"
        names.faults.add(message, place.span(), hint="rename one of them")


def _check_local_names(function: FunctionSpec, names: Namespace) -> None:
    local: dict[str, Text] = {}
    whole: dict[str, Text] = {}
    definitions = (*function.where, *function.results)
    for definition in definitions:
        text = definition.name_text
        local.setdefault(definition.name, text)
        # Of a recurrence several definitions give the first entries.
        first = whole.get(definition.name)
        if definition.name in names.owners:
            names.clash(text, "a local definition", *names.owners[definition.name])
        elif first is not None and not _is_part(definition, names):
            names.clash(text, "a local definition", "a local definition", first)
        if not _is_part(definition, names):
            whole.setdefault(definition.name, text)
    for index in [*(function.indices or ()), *_indices(definitions, names)]:
        if index.value in local:
            names.clash(index, "an index", "a local definition", local[index.value])
        else:
            names.check_index(index)


def _indices(definitions: Iterable[Definition], names: Namespace) -> Iterator[Text]:
    """The indices on left sides: a dim is one only where it says no entry."""
    definitions = tuple(definitions)
    counts = Counter(definition.name for definition in definitions)
    for definition in definitions:
        part = counts[definition.name] > 1
        for index in definition.indices or ():
            if not (part and names.is_dim(index)):
                yield index


def claim_definitions(definitions: Iterable[Definition], names: Namespace) -> None:
    """Give definitions their names: entries of one array share its name."""
    seen, whole = set[str](), set[str]()
    for definition in definitions:
        part = _is_part(definition, names)
        if definition.name not in seen or (not part and definition.name in whole):
            names.claim(definition.name_text, "a definition")
        seen.add(definition.name)
        whole |= set() if part else {definition.name}


def _is_part(definition: Definition, names: Namespace) -> bool:
    """Whether a definition gives one entry, as in `x[0]` and `x[T]`, or one a step."""
    own = definition.indices or ()
    return definition.gives_entries or any(map(names.is_dim, own))


def _check_arguments(function: FunctionSpec, names: Namespace) -> None:
    """Report directions and cotangents that bear the name of an input or a dim."""
    for emit in function.emit:
        added: dict[str, str] = {}
        if emit.kind.argument == "direction":
            added = {f"d{w.name}": f"the direction of '{w.name}'" for w in function.wrt}
        elif emit.kind.argument:
            added = {"ct": "the cotangent"}
            if function.results:
                results = [result.name for result in function.results]
                added = {f"ct_{x}": f"the cotangent of '{x}'" for x in results}
        for name, what in added.items():
            _report_hidden(name, what, emit.kind.name, emit.text, names)


def _report_hidden(
    name: str, what: str, by: str, place: Text, names: Namespace
) -> None:
    """Report an argument `what` that an input or a dim is called like."""
    owner, text = names.owners.get(name, ("", place))
    if owner in ("an input", "a dim"):
        kind = owner.split()[1]
        names.faults.add(
            f"'{by}' names {what} '{name}', which is {owner}",
            place.span(),
            marks=((place.span(), ""), (text.span(), f"the {kind}")),
            hint=f"rename the {kind} '{name}'",
        )


def _check_emitted_names(functions: tuple[FunctionSpec, ...], names: Namespace) -> None:
    """Report `f_grad`, a function, beside `f` with its gradient.

    Where `emit` is left to its default, what is emitted is known only later.
    """
    owners = {f.name: f for f in functions}
    for function in functions:
        tuples = tuple_names(function)
        _check_hidden(function, tuples, names)
        for name in (*emitted_names(function), *tuples):
            owner = owners.setdefault(name, function)
            if owner is function:
                continue
            places = (owner.name_text.span(), function.name_text.span())
            names.faults.add(
                f"the generated name '{name}' would name two functions",
                places[1],
                marks=tuple((place, f"generates '{name}'") for place in places),
                hint="rename one of the functions",
            )


def emitted_names(function: FunctionSpec) -> tuple[str, ...]:
    """Return the names that the function's `emit` gives in the generated module."""
    given = [(emit.kind, emit.inputs) for emit in function.emit]
    kinds = all_emitted([kind for kind, _ in given])
    given += [(kind, ()) for kind in kinds if kind.beside]
    return tuple(kind.public_name(function.name, order) for kind, order in given)


def _check_hidden(
    function: FunctionSpec, tuples: Iterable[str], names: Namespace
) -> None:
    """Report an input, dim or local value that hides what the function returns."""
    texts = {name: text for name, (_, text) in names.owners.items()}
    texts |= {d.name: d.name_text for d in (*function.where, *function.results)}
    for name in tuples:
        if name in texts and name != function.name:
            message = f"'{name}' is what '{function.name}' returns tuples of"
            places = (texts[name].span(), function.name_text.span())
            marks = ((places[0], ""), (places[1], f"returns '{name}'"))
            names.faults.add(message, places[0], marks=marks, hint="rename one of them")


def tuple_names(function: FunctionSpec) -> tuple[str, ...]:
    """Return the names of the tuples in which a function gives several arrays."""
    given = [(emit.kind, emit.inputs) for emit in function.emit]
    given = given or [(kind, ()) for kind in (VALUE, GRADIENT, JACOBIAN)]
    given += [(kind, ()) for own, _ in given for kind in own.lead]
    by_input = [(k, x) for k, x in given if k.by == "each" and len(function.wrt) > 1]
    found = [kind.tuple_name(function.name, order) for kind, order in by_input]
    for result in function.results:
        own = result_name(function.name, result.name)
        found += [kind.tuple_name(own, order) for kind, order in by_input]
    if function.results:
        found += [kind.tuple_name(function.name, order) for kind, order in given]
    return tuple(dict.fromkeys(found))
