"""Files of functions over NumPy, of which one says how long its axes are.

    def loss(w: "n", X: "m n", y: "m"): ...

or `@tensorgen.function(w="n", X="m n", y="m", wrt="w")` above it says so. Others are
helpers, which are read where they are called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from tensorgen.errors import Source, Span, fail
from tensorgen.frontends.numpy_functions import Wanted, read_function
from tensorgen.frontends.python_source import PythonFile
from tensorgen.frontends.translation import Translation
from tensorgen.frontends.write_spec import Asked


def read_numpy_file(source: Source, asked: Asked) -> Translation:
    """Return the function of a file that states its shapes as a spec.

    What is asked for comes before what a decorator says; where neither says by what it
    is differentiated, that is the first argument with a shape. Raises `SpecError` where
    none or several state shapes, and where something cannot be read.
    """
    file = PythonFile.parse(source)
    stated = {x: _shapes(x) for x in file.helpers.values()}
    own = [x for x in stated if stated[x]] or [*stated]
    if len(own) != 1:
        names = ", ".join(x.name for x in own) or "none"
        hint = 'one function says how long its axes are: def f(w: "n", X: "m n")'
        message = f"one function is brought in, of these: {names}"
        fail(message, Span(source, 0, 0), hint=hint)
    (function,) = own
    by = asked.by or _words(function, "wrt")
    remarks = []
    if not by and stated[function]:
        by = [next(iter(stated[function]))]
        remarks = [f"Assumed: it is differentiated by {by[0]}, the first argument."]
    wanted = Wanted(
        stated[function],
        tuple(by),
        tuple(asked.emit or _words(function, "emit")),
        module=asked.module,
    )
    found = read_function(file, function, wanted)
    return Translation(found.text.text, (*remarks, *found.remarks))


def _shapes(function: ast.FunctionDef) -> Mapping[str, str]:
    """The shapes of arguments that a decorator says, or annotations that are texts."""
    own = function.args
    every = [*own.posonlyargs, *own.args, *own.kwonlyargs]
    found = {
        x.arg: x.annotation.value
        for x in every
        if isinstance(x.annotation, ast.Constant)
        and isinstance(x.annotation.value, str)
    }
    found |= {x: text for x, (text, *_) in _said(function)}
    return {x.arg: found[x.arg] for x in every if x.arg in found}


def _words(function: ast.FunctionDef, keyword: str) -> Sequence[str]:
    """The names that a decorator gives under a keyword."""
    return next((words for name, words in _said(function) if name == keyword), ())


def _said(function: ast.FunctionDef) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield what keywords of decorators are: a text, or several."""
    for decorator in function.decorator_list:
        for one in decorator.keywords if isinstance(decorator, ast.Call) else ():
            several = isinstance(one.value, ast.List | ast.Tuple)
            nodes = one.value.elts if several else [one.value]  # type: ignore[attr-defined]
            texts = [x.value for x in nodes if isinstance(x, ast.Constant)]
            words = [x for x in texts if isinstance(x, str)]
            if one.arg is not None and words:
                yield one.arg, words
