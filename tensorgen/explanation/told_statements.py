"""The statements of a function, and what they compute, as far as names tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tensorgen.arrays.cost_line import Amount
from tensorgen.arrays.kernels import Kernel
from tensorgen.emit.backends import BACKENDS
from tensorgen.emit.kernels import sources
from tensorgen.emit.launches import SWEEPS
from tensorgen.emit.layout import layout
from tensorgen.explanation.subjects import Explained, Form, Subject
from tensorgen.ir.dims import Dim
from tensorgen.prices.thresholds import assumed


@dataclass(frozen=True)
class Line:
    """A statement as it is laid out in a function, and the formulas that it is of.

    `parts` are names of values in formulas: those that it computes come first.
    """

    text: str
    computes: tuple[str, ...]
    reads: tuple[str, ...] = ()

    @property
    def commented(self) -> str:
        """The statement with a comment that names what it computes."""
        if not self.computes:
            return self.text
        comment = f"# {', '.join(self.computes)}"
        if "\n" not in self.text and len(self.text) + len(comment) + 2 <= 88:
            return f"{self.text}  {comment}"
        return f"    {comment}\n{self.text}"


def lines(subject: Subject, form: Form) -> list[Line]:
    """Return the statements of a form of a function, the last of which returns."""
    known = {e.name: e.left for e in subject.equations}
    fields = _fields(subject, form)
    found = [
        _line(text, known, fields, _assigned(text)) for text in form.function.body.lines
    ]
    done = {name for line in found for name in line.computes}
    returns = form.function.body.returns
    # What stands in the last line alone is computed there.
    left = [
        known[name]
        for name, _ in subject.formulas
        if name in known and known[name] not in done
    ]
    whole = [text for text in left if not any(x.endswith(text) for x in done)]
    text = f"return {', '.join(returns)}" if returns else "return ()"
    last = _line(text, known, fields, ())
    return [*found, Line(last.text, tuple(whole), last.reads)]


def kernels_of(subject: Subject) -> list[Kernel]:
    """The kernels that a function calls, in the order of the calls."""
    return [*dict.fromkeys(x for f in subject.forms for x in f.function.body.kernels)]


def launch_rows(subject: Subject, told: Explained) -> list[str]:
    """What the function launches in its module, and how often the host waits."""
    if not told.launches:
        return []
    count = told.launches.get(subject.name)
    if count is None:
        return ["as many as its values ask for"]
    most = "at most " * count.most
    amounts = {"launches": count.launches, "waits of the host": count.waits}
    rows = [f"{x}: {most}{_amount(n, subject.hints)}" for x, n in amounts.items()]
    if any(SWEEPS in n.symbols for n in amounts.values()):
        rows.append(f"{SWEEPS}: as many as the logarithm of the steps")
    return rows


def _amount(count: Dim, hints: Mapping[str, int]) -> str:
    """A polynomial of sizes, and what it comes to."""
    symbols = sorted(count.symbols)
    if not symbols or SWEEPS in symbols:
        return str(count)
    sizes = assumed(hints, symbols)
    number = int(Amount.of(count, sizes))
    at = ", ".join(f"{name} = {size:,}" for name, size in sizes.items())
    return f"{count} = {number:,} at {at}"


def kernel_rows(kernels: Sequence[Kernel], backend: str) -> list[str]:
    """The statements that make kernels, and before them what these call."""
    text = "\n".join(sources(kernels, BACKENDS[backend]))
    return [layout(text).strip("\n")] if text else []


def _fields(subject: Subject, form: Form) -> dict[str, str]:
    """What arrays of derivative objects are called, and of which formula they are."""
    lefts = {e.name: e.left for e in subject.equations}
    roots = [subject.planned.root_names[k] for k in subject.planned.tensors]
    holders = [h for f in form.function.alone for h in f.holders]
    return {
        name: lefts.get(root, root)
        for root, holder in zip(roots, holders, strict=False)
        for name in holder.fields
    }


def _line(
    text: str, known: Mapping[str, str], fields: Mapping[str, str], names: Sequence[str]
) -> Line:
    computes = [known[x] for x in names if x in known]
    computes += [
        f"part of {fields[x]}" for x in names if x in fields and x not in known
    ]
    reads = [known[x] for x in dict.fromkeys(_names(text)) if x in known]
    reads = [x for x in reads if x not in computes]
    return Line(_laid_out(text), tuple(dict.fromkeys(computes)), tuple(reads))


def _laid_out(text: str) -> str:
    """A statement where it stands in a function, four columns from the margin."""
    body = "\n".join(f"    {row}" for row in text.split("\n"))
    return layout(f"def _():\n{body}\n").partition("\n")[2].strip("\n")


def _assigned(text: str) -> list[str]:
    """The names that a statement binds or changes."""
    return list(dict.fromkeys(_targets(ast.parse(text))))


def _targets(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _bases(target)
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            yield from _bases(node.target)
        elif isinstance(node, ast.keyword) and node.arg == "out":
            yield from _bases(node.value)


def _bases(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=parts):
            for part in parts:
                yield from _bases(part)
        case ast.Subscript(value=value) | ast.Attribute(value=value):
            yield from _bases(value)
        case _:
            return


def _names(text: str) -> list[str]:
    found = ast.walk(
        ast.parse(f"def _():\n    {text}" if "return" in text[:6] else text)
    )
    return [node.id for node in found if isinstance(node, ast.Name)]
