"""What specs become: made once a process for all tests that only look at it."""

import ast
from functools import cache

import tensorgen
from tensorgen.errors import Source
from tensorgen.pipeline import compile_spec

generate = cache(tensorgen.generate)
load = cache(tensorgen.load)


@cache
def both(text: str, mode: str = "cross-country") -> tuple[str, str]:
    """The modules of a spec for NumPy and for CuPy, planned once."""
    source = Source("<text>", text)
    given = ["numpy", "cupy"], mode, False
    ours, theirs = compile_spec(source, *given, support="inline").values()
    return ours, theirs


def source(text: str, name: str) -> str:
    """The text of a function of a module, and of what it shares with others."""
    own = {f.name: f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef)}
    shared = [f"_{name.partition('_')[0]}_{x}" for x in ("parts", "grad_parts")]
    shared += [f"_{name.partition('_')[0]}_{x}" for x in ("value", "grad", "hess")]
    called = [n.id for n in ast.walk(own[name]) if isinstance(n, ast.Name)]
    names = [*(x for x in shared if x in called and x in own), name]
    return "\n".join(str(ast.get_source_segment(text, own[x])) for x in names) + "\n"
