"""Pages of the site, one for each function of the language.

They say what `tensorgen functions NAME` says, with formulas that browsers lay out, and
are made when the site is built: nothing of them stands in the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from docs.function_tables import code, prose
from docs.typeset import formula
from tensorgen.explanation import function_reference as reference
from tensorgen.explanation.formula_tree import read
from tensorgen.explanation.function_forms import helpers, stable_forms
from tensorgen.explanation.function_reference import ARRAY, DEFINED, ELEMENT, Entry
from tensorgen.explanation.mathml import displayed, equation_mathml, mathml
from tensorgen.operators.elementwise import ALIASES, ELEMENTWISE

FOLDER = "functions"
INDEX = f"{FOLDER}/index.md"
GROUPS = {
    ELEMENT: ("Elementwise", "of each entry; arguments are broadcast"),
    ARRAY: ("Of whole arrays", "of vectors, matrices and what has more axes"),
    DEFINED: ("Of the prelude", "defined in the language itself"),
}
"""Titles of groups by sort, and what their functions are."""
LANGUAGE = "../language.md"
ROW = re.compile(r"^\| `(?P<call>(?P<name>\w+)\([^`]*)` \|", re.MULTILINE)
WORD = re.compile(r"[^\W\d]\w*(?=\()")


@cache
def found() -> dict[str, Entry]:
    """All functions by name, those of a group together."""
    return {entry.name: entry for entry in reference.entries()}


def path(name: str) -> str:
    """Return where the page of a function is."""
    return f"{FOLDER}/{name}.md"


@cache
def pages() -> dict[str, str]:
    """Return the text of each page, by its path."""
    return {INDEX: index(), **{path(x.name): page(x) for x in found().values()}}


def boost(name: str) -> int:
    """Return how much the search prefers the page of a function.

    What is typed finds all that begins with it, of which rare words come first: so
    `exp` is preferred to `exprel`.
    """
    longer = [x for x in found() if x.startswith(name) and x != name]
    return 4 * max(map(boost, longer)) if longer else 4


def nav() -> list[str | dict[str, list[dict[str, str]]]]:
    """Return the pages for the site's navigation, in groups."""
    groups: dict[str, list[dict[str, str]]] = {x: [] for x, _ in GROUPS.values()}
    for entry in found().values():
        groups[GROUPS[entry.sort][0]].append({entry.name: path(entry.name)})
    ordered = ({x: sorted(own, key=min)} for x, own in groups.items())
    return [INDEX, *ordered]


def linked(markdown: str) -> str:
    """Return a page whose tables of functions lead to the page of each."""

    def row(found_row: re.Match[str]) -> str:
        name, call = found_row["name"], found_row["call"]
        is_known = name in found()
        return f"| [`{call}`]({path(name)}) |" if is_known else found_row[0]

    return ROW.sub(row, markdown)


def index() -> str:
    """Return the page that lists all functions."""
    lines = [
        "# Functions",
        "",
        "What can be called in a spec. Each function has a page with its derivative,",
        "its NumPy and CUDA code and an example; `tensorgen functions NAME` prints the",
        f"same. [The language]({LANGUAGE}#functions) says how calls are written.",
    ]
    for sort, (title, says) in GROUPS.items():
        lines += ["", f"## {title}", "", f"They are {says}.", "", "| | |", "|---|---|"]
        own = sorted(x.name for x in found().values() if x.sort == sort)
        for name in own:
            entry = found()[name]
            lines.append(f"| [`{name}`]({name}.md) | {_cell(entry)} |")
    return "\n".join(lines) + "\n"


def _cell(entry: Entry) -> str:
    """What a function is, in a row of the list."""
    if entry.definition:
        return code(entry.definition)
    if not entry.doc:
        return f"derivative: {', '.join(map(code, reference.partials(entry)))}"
    return prose(entry.short)


def page(entry: Entry) -> str:
    """Return the page of a function."""
    parts = [
        f"---\ntitle: {entry.name}\nsearch: {{boost: {boost(entry.name)}}}\n---",
        f"# {entry.name}",
        code(entry.call),
        *_says(entry),
        _facts(entry),
        *_formulas(entry),
        *_forms(entry),
        *_numpy(entry),
        *_cuda(entry),
        "## Example",
        *_example(entry),
        *_others(entry),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _says(entry: Entry) -> Iterator[str]:
    if entry.doc:
        yield prose(entry.doc)
    elif entry.sort == ELEMENT:
        yield "A function of each entry."
    if entry.definition:
        yield f"It is defined as {code(entry.definition)}."


def _facts(entry: Entry) -> str:
    title, says = GROUPS[entry.sort]
    rows = [("sort", f"{title.lower()}: {says}")]
    if entry.shape:
        rows.append(("shape", entry.shape))
    if entry.name in ALIASES:
        same = ALIASES[entry.name]
        rows.append(("the same as", f"[`{same}`]({same}.md)"))
    elif others := [x for x, same in ALIASES.items() if same == entry.name]:
        links = ", ".join(f"[`{x}`]({x}.md)" for x in others)
        rows.append(("also called", links))
    return "| | |\n|---|---|\n" + "\n".join(f"| {a} | {b} |" for a, b in rows)


def _formulas(entry: Entry) -> Iterator[str]:
    """The formulas of a sample, or the derivatives by each argument."""
    yield "## Derivative"
    if entry.sort == ELEMENT:
        yield from _partials(entry)
        return
    wrt = entry.inputs.partition(":")[0]
    told = reference.equations(entry)
    constant = entry.name in reference.CONSTANT
    by = "" if constant else f", and `jac` its derivative by `{wrt}`"
    yield f"Of {code(entry.sample)}, with {code(entry.inputs)}, `f` is the value{by}:"
    for equation in told:
        yield formula(equation_mathml(equation, {}), equation.ranges)
    if not told:
        yield "These formulas are too long to be read."
    if constant:
        yield "Its arguments are sizes: there is nothing to differentiate by."


def _partials(entry: Entry) -> Iterator[str]:
    names = entry.call.partition("(")[2]
    texts = reference.partials(entry)
    for name, text in zip(names.rstrip(")").split(", "), texts, strict=True):
        if text == "none":
            yield f"By `{name}` none is known."
            continue
        sides = (mathml(read(side), {}) for side in (entry.call, name))
        rows = "".join(f"<mrow><mo>∂</mo>{side}</mrow>" for side in sides)
        right = mathml(read(text), {})
        yield formula(displayed(f"<mfrac>{rows}</mfrac><mo>=</mo>{right}"))
        yield f"By `{name}`: {code(text)}."
    if own := sorted({x for text in texts for x in WORD.findall(text)} - {*found()}):
        told = f"[The language]({LANGUAGE}#functions) tells of functions that occur"
        yield f"{told} in derivatives only: {', '.join(f'`{x}`' for x in own)}."


def _forms(entry: Entry) -> Iterator[str]:
    rows = [
        f"| {code(form.written)} | {code(form.computed)} | {form.condition} |"
        for form in stable_forms(entry.name)
    ]
    if rows:
        yield "## Stable forms"
        yield (
            "What is written on the left is computed as on the right, whatever letters"
            " stand for; `k` and `m` are numbers."
        )
        yield "| written | computed | if |\n|---|---|---|\n" + "\n".join(rows)


def _numpy(entry: Entry) -> Iterator[str]:
    yield "## NumPy"
    if entry.sort == ELEMENT:
        statements = reference.spelling(entry)
        remark = ELEMENTWISE[ALIASES.get(entry.name, entry.name)].remark
        comment = f"# {remark.sentence}\n" if remark is not None else ""
    else:
        statements, comment = reference.worked(entry)[1].replace("; ", "\n"), ""
        yield f"Of {code(entry.sample)}; CuPy has the same, but for `np`."
    yield _block("python", comment + statements)
    if sources := helpers(statements):
        yield "What starts with `_` stands in the module that calls it:"
        yield _block("python", "\n\n\n".join(sources))


def _cuda(entry: Entry) -> Iterator[str]:
    text, functions = reference.cuda(entry) if entry.sort == ELEMENT else ("", [])
    if text:
        yield "## CUDA"
        yield "In kernels of CuPy modules, of one entry of type `T`:"
        yield _block("cuda", text)
        if functions:
            yield _block("cuda", "\n\n".join(functions))


def _example(entry: Entry) -> Iterator[str]:
    yield _block("yaml", reference.sample_spec(entry))


def _others(entry: Entry) -> Iterator[str]:
    """Links to functions that this one is made of, or is in the derivative of."""
    texts = [entry.definition]
    if entry.sort == ELEMENT:
        texts += reference.partials(entry)
    own = {x for text in texts for x in WORD.findall(text)}
    users = {x for x, other in found().items() if _calls(other.definition, entry.name)}
    if names := sorted(((own & {*found()}) | users) - {entry.name}):
        yield "## See also"
        yield ", ".join(f"[`{name}`]({name}.md)" for name in names)


def _calls(text: str, name: str) -> bool:
    return name in WORD.findall(text)


def _block(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"
