"""Reading a spec file: from text to a checked `Spec`, or all that is wrong with it."""

from __future__ import annotations

import re
from pathlib import PurePath

from tensorgen.errors import Faults, Source, Span, Text, fail, suggest
from tensorgen.spec.batches import check_no_batch
from tensorgen.spec.blocks import read_blocks
from tensorgen.spec.check import check_names, claim_definitions
from tensorgen.spec.clauses import read_clauses
from tensorgen.spec.externals import check_allowed, read_externals
from tensorgen.spec.fields import Field, read_doc, read_fields, read_items, read_text
from tensorgen.spec.functions import FUNCTION_KEYS, read_functions
from tensorgen.spec.inputs import read_dims, read_inputs
from tensorgen.spec.model import BACKENDS, SUPPORT, Definition, Spec
from tensorgen.spec.names import Namespace, check_name, in_code
from tensorgen.spec.problem import read_problem
from tensorgen.spec.unknowns import read_unknowns
from tensorgen.spec.yaml_nodes import Mapping, Scalar, describe
from tensorgen.spec.yaml_tree import read_tree

VERSION = "1"
_KEYS = (
    *("tensorgen", "module", "doc", "dims", "inputs", "external", "unknowns"),
    *("definitions", "functions", "problem", "blocks", "backends", "support"),
)


def read_spec(source: Source, allow_external: bool = False) -> Spec:
    """Return what the file says; raises a `SpecError` with all of its faults.

    Functions from outside are faults where they are not allowed.
    """
    faults = Faults()
    spec = sketch_spec(source, faults, allow_external)
    faults.raise_if_any()
    return spec


def sketch_spec(source: Source, faults: Faults, allow_external: bool = False) -> Spec:
    """Return what can be read of a file that may have faults, and note these.

    Raises a `SpecError` where it is no YAML, or no mapping.
    """
    root = read_tree(source, faults)
    if not isinstance(root, Mapping):
        hint = "a spec is a YAML mapping that starts with 'tensorgen: 1'"
        start = root.span.start
        span = Span(source, start, start + 1)
        fail(f"a mapping is expected, not {describe(root)}", span, hint=hint)
    hint = "it belongs to a function: indent it as far as 'expr'"
    elsewhere = dict.fromkeys(FUNCTION_KEYS, hint)
    fields = read_fields(root, _KEYS, "a spec", faults, elsewhere)
    _check_version(fields.get("tensorgen"), root, faults)
    return _read_sections(source, fields, faults, allow_external)


def _read_sections(
    source: Source, fields: dict[str, Field], faults: Faults, allow_external: bool
) -> Spec:
    names = Namespace(faults)
    module = _module(fields.get("module"), source, faults)
    doc = read_doc(fields.get("doc"), faults)
    dims, hints = read_dims(fields.get("dims"), names, faults)
    inputs = read_inputs(fields.get("inputs"), dims, names, faults)
    unknowns = read_unknowns(fields.get("unknowns"), dims, names, faults)
    externals = read_externals(fields.get("external"), dims, names, faults)
    if not allow_external:
        check_allowed(externals, faults)
    for name, text in dims.items():
        if name not in hints:
            names.claim(text, "a dim")
    definitions = _definitions(fields.get("definitions"), names, faults)
    by_name = {i.name: i for i in inputs}
    known = by_name | {x.name: x.given for x in unknowns}
    functions = read_functions(fields.get("functions"), known, names, faults)
    if "functions" not in fields:
        _report_no_functions(source, fields, faults)
    backends = _backends(fields.get("backends"), faults)
    problem = read_problem(fields.get("problem"), module, by_name, functions, faults)
    blocks = read_blocks(fields.get("blocks"), dims, inputs, functions, faults)
    if blocks is not None:
        check_no_batch(blocks.size_text, inputs, faults)
    check_names(dims, definitions, functions, names, problem)
    all_hints = tuple((in_code(name), hints.get(name)) for name in dims)
    return Spec(
        source,
        module or "spec",
        doc,
        all_hints,
        inputs,
        definitions,
        functions,
        backends,
        problem,
        _support(fields.get("support"), faults),
        unknowns,
        externals,
        blocks,
        tuple(dims.places),
    )


def _report_no_functions(
    source: Source, fields: dict[str, Field], faults: Faults
) -> None:
    """Report that there are none, or stand too deep."""
    for field in fields.values():
        pairs = field.node.pairs if isinstance(field.node, Mapping) else ()
        for key, _ in pairs:
            if isinstance(key, Scalar) and key.text.value == "functions":
                message = f"'functions' stands under '{field.key}', not beside it"
                hint = f"indent it as far as '{field.key}'"
                faults.add(message, key.span, hint=hint)
                return
    faults.add("the file has no 'functions'", Span(source, 0, 0))


def _check_version(field: Field | None, root: Mapping, faults: Faults) -> None:
    if field is None:
        start = root.span.start
        message = f"the file does not say 'tensorgen: {VERSION}'"
        hint = f"add the line 'tensorgen: {VERSION}' at the top"
        faults.add(message, Span(root.span.source, start, start), hint=hint)
        return
    text = read_text(field, faults)
    if text is not None and text.value != VERSION:
        message = f"the format version '{text}' is unknown"
        faults.add(message, text.span(), hint=f"this tensorgen reads version {VERSION}")


def _module(field: Field | None, source: Source, faults: Faults) -> str | None:
    if field is not None:
        text = read_text(field, faults)
        good = text is not None and check_name(text, "a module", faults)
        return text.value if text is not None and good else None
    if source.name.startswith("<"):
        return "spec"
    stem = PurePath(source.name).stem
    # The usual separators of file names; anything else is for the user to name.
    module = re.sub(r"[-. ]", "_", stem)
    scratch = Faults()
    place = Text.plain(module)
    if check_name(place, "a module", scratch):
        return module
    message = f"the file's name, '{stem}', cannot be the name of a module"
    faults.add(message, Span(source, 0, 0), hint="add 'module: ' and a name")
    return None


def _definitions(
    field: Field | None, names: Namespace, faults: Faults
) -> tuple[Definition, ...]:
    if field is None or field.empty:
        return ()
    found = read_clauses(field.node, field.key, faults, macro=True)
    claim_definitions(found, names)
    return found


def _backends(field: Field | None, faults: Faults) -> tuple[str, ...]:
    if field is None:
        return BACKENDS
    found: list[str] = []
    items = read_items(field, faults)
    for node in items:
        name = node.text.value if isinstance(node, Scalar) else ""
        if name not in BACKENDS:
            hint = suggest(name, BACKENDS) or "the backends are " + ", ".join(BACKENDS)
            faults.add(f"{describe(node)} is not a backend", node.span, hint=hint)
        elif name in found:
            faults.add(f"the backend '{name}' occurs twice", node.span)
        found.append(name)
    if not items:
        faults.add("'backends' names none", field.key.span())
    return tuple(name for name in BACKENDS if name in found)


def _support(field: Field | None, faults: Faults) -> str:
    text = None if field is None else read_text(field, faults)
    if text is None:
        return SUPPORT[0]
    if text.value not in SUPPORT:
        hint = suggest(text.value, SUPPORT) or "support is " + " or ".join(SUPPORT)
        faults.add(f"'{text}' is no location of support code", text.span(), hint=hint)
    return text.value
