"""What specs become: made once a process for all tests that only look at it."""

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
