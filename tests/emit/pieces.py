"""Single templates, rendered and executed on their own."""

from __future__ import annotations

import itertools
import sys
from functools import cache
from types import ModuleType

from tensorgen.emit.backends import BACKENDS
from tensorgen.emit.framing import environment
from tensorgen.emit.imports import imports
from tensorgen.emit.layout import layout
from tensorgen.emit.support import helpers

_COUNTER = itertools.count()
_HEAD = "from __future__ import annotations\n"


@cache
def source(*templates: str, backend: str = "numpy") -> str:
    """Return the source of a module of templates, with what it imports."""
    spelled = BACKENDS[backend]
    pieces = [
        environment(spelled.folder)
        .get_template(f"{name}.py.j2")
        .render(
            backend=spelled,
            np=spelled.alias,
            has_hessian=True,
            has_dense_hessian=True,
            has_structured_hessian=True,
            has_joint=True,
            has_other_joint=True,
            has_sparse_joint=False,
            has_products=True,
            has_scale=False,
            has_index_fields=False,
            has_joined=False,
            has_multiple_text=True,
            has_inverse_diagonal=True,
            pieces=("refined", "norm_estimate"),
            factorizations=[name.removesuffix("_factorization") for name in templates],
        )
        for name in ("types", *templates, "real", "convert")
    ]
    banded = [x for x in helpers(spelled) if x.name == "_Banded" and spelled.banded]
    pieces[1:1] = [x.source for x in banded]
    code = "\n".join(pieces)
    return layout(f"{_HEAD}{imports(code, spelled, {})}\n{code}")


def load(*templates: str, backend: str = "numpy") -> ModuleType:
    """Execute templates as a module, those of matrices first."""
    name = f"pieces_{next(_COUNTER)}"
    result = ModuleType(name)
    sys.modules[name] = result
    code = source("scalable", "matrix", *templates, backend=backend)
    exec(compile(code, name, "exec"), result.__dict__)
    return result
