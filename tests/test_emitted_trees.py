"""A spec computes and does nothing else: the syntax trees of what is emitted."""

from __future__ import annotations

import json

import pytest

from tensorgen.errors import Source, SpecError
from tensorgen.pipeline import compile_spec
from tests import goldens
from tests.emitted_trees import escapes

# Names that mean something to Python or to the frame of a module, in every role.
NAMES = (
    *("__import__", "__class__", "__builtins__", "__dict__", "__init__", "__all__"),
    *("exec", "eval", "open", "compile", "getattr", "setattr", "globals", "vars"),
    *("os", "sys", "np", "cp", "scipy", "tofile", "dump", "ctypes", "format", "self"),
    *("import", "lambda", "class", "Any", "NDArray", "object", "super", "type"),
    *("a-b", "a b", "a.b", "a;b", "a\nb", "a()", "é", "\uff4fs", "\u202ea", "_", "_at"),
)
ROLES = (
    "inputs: {NAME: [n]}\nfunctions: {f: {expr: sum(NAME**2), wrt: NAME}}",
    "inputs: {x: [NAME]}\nfunctions: {f: {expr: sum(x) * NAME, wrt: x}}",
    "inputs: {x: [n]}\nfunctions: {NAME: {expr: sum(exp(x)), wrt: x}}",
    "inputs: {x: [n]}\nfunctions: {f: {where: {NAME: x**2}, expr: sum(NAME * NAME)}}",
)
TEXTS = (
    '"""\nimport os\n"""',
    "\\",
    '\\"""; import os; """',
    "'''\nimport os\n'''",
    "\r\nimport os",
    "\u2028import os",
    "\x85import os",
    "{{ 7 }}{% import os %}",
    "{0.__class__}%s",
    "# -*- coding: utf-7 -*-",
    "\\N{LINE FEED}import os",
    "\U0010ffff\u202e",
)
TEXT = """
tensorgen: 1
module: m
doc: TEXT
inputs: {x: {shape: [n], doc: TEXT}, s: {shape: scalar, doc: TEXT, default: 1}}
functions: {f: {doc: TEXT, expr: sum(s * x**2), wrt: x, emit: [hessian, problem]}}
"""
EXPRESSIONS = (
    "__import__('os').system('true')",
    "x.__class__.__mro__",
    "x.tofile('x')",
    "(lambda: 0)()",
    "[open for open in x]",
    "open('x').read()",
    "eval('x')",
    "f'{x}'",
    "'%s' % x",
    "'x'.format(x)",
    "x if x else eval",
    "(x := x)",
    "einsum('i->; import os', x)",
    'einsum("i,i->", x, x); import os',
    "sum(x)\nimport os",
    "sum(x) # \nimport os",
    "sum(x, axis=__import__('os'))",
    "x[__import__('os')]",
    "np.load('x')",
    "exec",
    "...",
    "b'x'",
    "`x`",
    "!!python/object/apply:os.system [true]",
)
SPEC = "tensorgen: 1\nmodule: m\ninputs: {x: [n]}\nfunctions: {f: EXPR}\n"


def emitted(spec: str, name: str = "s.yaml") -> list[str]:
    """Return the modules that a spec becomes; none if there is something to say."""
    try:
        texts = compile_spec(
            Source(name, spec), ["numpy", "cupy"], "cross-country", laid_out=False
        )
    except SpecError:
        return []
    return [*texts.values()]


@pytest.mark.parametrize("name", goldens.names())
def test_modules_compute_and_do_nothing_else(name: str) -> None:
    assert escapes(goldens.text(name)) == []


@pytest.mark.parametrize("role", ROLES)
def test_names_reach_nothing(role: str) -> None:
    for name in NAMES:
        for text in (name, json.dumps(name)):
            spec = "tensorgen: 1\nmodule: m\n" + role.replace("NAME", text)
            for source in emitted(spec):
                assert escapes(source) == [], name


@pytest.mark.parametrize("text", TEXTS)
def test_texts_stay_texts(text: str) -> None:
    modules = emitted(TEXT.replace("TEXT", json.dumps(text)))
    assert modules or "\u0085" in text or "\r" in text
    for source in modules:
        assert escapes(source) == []


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_are_not_python(expression: str) -> None:
    assert emitted(SPEC.replace("EXPR", json.dumps(expression))) == []
    assert emitted(SPEC.replace("EXPR", expression)) == []


@pytest.mark.parametrize("place", ["x: [EXPR]", "x: {shape: [n], default: EXPR}"])
def test_shapes_and_defaults_are_not_python(place: str) -> None:
    for expression in EXPRESSIONS:
        inputs = place.replace("EXPR", json.dumps(expression))
        spec = f"tensorgen: 1\ninputs: {{{inputs}}}\nfunctions: {{f: sum(x)}}\n"
        for source in emitted(spec):
            assert escapes(source) == [], expression


@pytest.mark.parametrize("module", ["../m", "/m", "a/b", "..", "m\0", "con\nm", ""])
def test_a_module_is_written_where_it_should_be(module: str) -> None:
    assert emitted(SPEC.replace(": m\n", f": {json.dumps(module)}\n")) == []


@pytest.mark.parametrize("name", [*TEXTS, "a\nimport os\n.yaml"])
def test_a_file_name_stays_in_its_comment(name: str) -> None:
    modules = emitted(SPEC.replace("EXPR", "sum(x)"), name)
    assert len(modules) == 2
    for source in modules:
        assert escapes(source) == []


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        "import numpy.f2py",
        "from os import path",
        "from . import x",
        "from scipy import special",
        "x = eval",
        "x = open",
        "x = getattr(np, 'load')",
        "def f(x): return getattr(x, 'T')",
        "def f(self): return getattr(self, f'__{0}')",
        "x = np.load",
        "x = np.linalg.lapack_lite",
        "x = np.random",
        "def f(x): return x.tofile",
        "def f(x): return x.__subclasses__()",
        "def f(x): return vars()",
        "def f(x): return type('C', (), {})",
        "def f(x): return '%s' % x",
        "def f(x): return '{0.real}'.format(x)",
        "def f(x=print): return x",
        "def f():\n    global np",
        "async def f(): pass",
        "x = abs(1)",
        "if True: pass",
        "class C(type('D', (), {})): pass",
        "@np.vectorize\ndef f(x): return x",
        "'\u202e'",
        "'\x0b'",
    ],
)
def test_the_walk_sees_what_does_not_belong_in_a_module(line: str) -> None:
    module = goldens.text("quadratic_form_numpy.py")
    assert escapes(f"{module}\n\n{line}\n") != []
