"""What specs become: made once a process for all tests that only look at it."""

import ast
import inspect
from functools import cache
from types import ModuleType

import tensorgen
from tensorgen.errors import Source
from tensorgen.pipeline import compile_spec

generate = cache(tensorgen.generate)
load = cache(tensorgen.load)


def as_printed(source: str, body: object = None, above: int = 0) -> str:
    """Take the place of `layout`, which takes a third of the time."""
    return source


@cache
def both(text: str, mode: str = "cross-country") -> tuple[str, str]:
    """The modules of a spec for NumPy and for CuPy, planned once."""
    source = Source("<text>", text)
    given = ["numpy", "cupy"], mode, False
    ours, theirs = compile_spec(source, *given, support="inline").values()
    return ours, theirs


SHARED = ("_parts", "_value", "_grad", "_hess", "_jac")
"""How functions end that others of a formula call."""


def code_of(module: ModuleType, name: str) -> str:
    """The text of a function that was loaded, behind that of what it shares."""
    return source(inspect.getsource(module), name)


def functions(text: str) -> dict[str, str]:
    """The functions of a module as they are laid out by Python, by name."""
    found = (x for x in ast.parse(text).body if isinstance(x, ast.FunctionDef))
    return {x.name: ast.unparse(x) for x in found}


def source(text: str, name: str) -> str:
    """The text of a function of a module, behind that of what it shares with others."""
    own = {f.name: f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef)}
    called = {n.id for n in ast.walk(own[name]) if isinstance(n, ast.Name)}
    both = [x for x in called if x in own and x.endswith("_value_and_grad")]
    if both:  # whose second result is returned
        return source(text, both[0])
    shared = [x for x in own if x[0] == "_" and x.endswith(SHARED) and x in called]
    texts = (ast.get_source_segment(text, own[x]) for x in (*shared, name))
    return "\n".join(map(str, texts)) + "\n"
