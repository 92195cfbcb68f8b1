"""What is made of a spec, or of an expression, in a process of its own.

A job takes what the page sent as JSON and returns what it is told. Faults of the spec
are answers like others.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

# What is compiled with is imported before there is anything to compile.
import black as black

from tensorgen.errors import Diagnostic, Remark, Source, Span, SpecError
from tensorgen.explanation.page import sections
from tensorgen.explanation.subjects import explained
from tensorgen.frontends.notations import NOTATIONS, guess_notation
from tensorgen.frontends.translation import Translation
from tensorgen.frontends.write_spec import Asked
from tensorgen.pipeline import compile_spec
from tensorgen.play.expression_spec import EXPRESSION, Form, FormError, Made, spec_of
from tensorgen.play.highlight import highlighted
from tensorgen.play.timing import timed
from tensorgen.spec.model import BACKENDS
from tensorgen.spec.read import read_spec
from tensorgen.verify import Subject, Verification, generated

Answer = dict[str, Any]

SPEC = "play.yaml"
"""What a spec is called that names no module."""
MODE = "cross-country"
POINTS = 3
"""At how many points a check compares."""


class _Job:
    """What a page asked for: a spec, and what it was made of, if anything."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.made: Made | None = None
        self.translation: Translation | None = None
        if "spec" in given:
            if not isinstance(given["spec"], str):
                raise FormError("a spec is a string")
            text = given["spec"].replace("\r\n", "\n").replace("\r", "\n")
        elif "notation" in given:
            self.translation = _translation(given)
            text = self.translation.spec
        else:
            self.made = spec_of(Form.read(given))
            text = self.made.text
        self.source = Source(SPEC, text)

    def named(self) -> Source:
        """The source under the name of the file that its module would come from."""
        module = read_spec(self.source).module
        return Source(f"{module}.yaml", self.source.text)

    def told(self, kind: str, diagnostic: Diagnostic) -> Answer:
        """A fault, a warning or a note, as a terminal has it, and where it is."""
        if self.made is not None:
            diagnostic = self.made.told(diagnostic)
        span = diagnostic.span
        # As a terminal has it: the line is shown where it is wrong.
        text = diagnostic.render() if kind == "error" else diagnostic.message
        answer: Answer = {"kind": kind, "text": text, "start": None, "end": None}
        if span is not None:
            answer |= {"line": span.line, "column": span.column}
            if self.made is None or span.source.name == EXPRESSION:
                answer |= {"start": _units(span, span.start)}
                answer |= {"end": _units(span, span.end)}
        return answer

    def form(self) -> Answer:
        """What was understood of a form."""
        if self.translation is not None:
            return {"spec": self.translation.spec}
        if self.made is None:
            return {}
        return {
            "spec": self.made.text,
            "variables": [asdict(x) for x in self.made.variables],
            "by": [*self.made.by],
        }


def _translation(given: Mapping[str, Any]) -> Translation:
    """The spec of a formula in another notation, or in the one that it looks like."""
    notation, text = given["notation"], given.get("text")
    if not isinstance(text, str) or notation not in ("", *NOTATIONS):
        raise FormError(f"a notation is one of {', '.join(NOTATIONS)}, with a text")
    source = Source("formula", text.replace("\r\n", "\n").replace("\r", "\n"))
    return NOTATIONS[notation or guess_notation(source)].read(source, Asked())


def _units(span: Span, place: int) -> int:
    """A place as browsers count: in units of UTF-16."""
    return len(span.source.text[:place].encode("utf-16-le", "surrogatepass")) // 2


def _compiled(job: _Job) -> Answer:
    """The modules, as `tensorgen gen` writes them."""
    remarks: list[Remark] = []
    files = compile_spec(
        job.named(), BACKENDS, MODE, note=remarks.append, support="inline"
    )
    modules = [
        {"backend": backend, "name": name, "text": text, "html": highlighted(text)}
        for backend, (name, text) in zip(BACKENDS, files.items(), strict=True)
    ]
    notes = [
        job.told("warning" if x.is_warning else "note", Diagnostic(str(x), x.span))
        for x in remarks
    ]
    return {"modules": modules, "diagnostics": notes}


def _explained(job: _Job) -> Answer:
    """Formulas, structure, costs and what is computed of what, as HTML."""
    told = explained(job.named())
    parts, _ = sections(told)
    rows = zip(told.subjects, parts, strict=True)
    return {"functions": [{"name": x.name, "html": html} for x, html in rows]}


def _checked(job: _Job) -> Answer:
    """What `tensorgen verify` finds of the module, on few points."""
    known, subject = _loaded(job)
    return {"findings": [x.as_json() for x in known.verify(subject)]}


def _timed(job: _Job) -> Answer:
    return {"times": [asdict(x) for x in timed(*_loaded(job))]}


def _loaded(job: _Job) -> tuple[Verification, Subject]:
    source = job.named()
    known = Verification(read_spec(source), points=POINTS)
    files = compile_spec(
        source, BACKENDS[:1], MODE, laid_out=False, checked=False, support="inline"
    )
    ((name, text),) = files.items()
    return known, generated(text, name, BACKENDS[0], source.name, MODE)


_RUN: Mapping[str, Callable[[_Job], Answer]] = {
    "translate": lambda job: {},  # a job has its spec from the beginning
    "compile": _compiled,
    "explain": _explained,
    "check": _checked,
    "time": _timed,
}
"""What is done for each of `requests.JOBS`."""


def work(name: str, given: Mapping[str, Any]) -> Answer:
    """Do a job; raises `KeyError` for what is none."""
    run, form = _RUN[name], Answer()
    job: _Job | None = None
    try:
        job = _Job(given)
        form = job.form()
        return {"diagnostics": [], **form, **run(job)}
    except SpecError as error:
        told = _nowhere if job is None else job.told
        return {**form, "diagnostics": [told("error", x) for x in error.diagnostics]}
    except FormError as error:
        return {"stopped": str(error)}
    except MemoryError:
        return {"stopped": "it exceeds the memory of a request"}
    except Exception:
        return {"bug": traceback.format_exc().strip().splitlines()[-1]}


def _nowhere(kind: str, diagnostic: Diagnostic) -> Answer:
    return {"kind": kind, "text": diagnostic.render(), "start": None, "end": None}
