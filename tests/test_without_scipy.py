"""What is emitted is the same whether SciPy is installed or not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SPEC = """
tensorgen: 1
module: frailty
inputs: {b: [p], X: [m, p], d: [m], s: scalar, A: [n, n]}
functions:
  nll:
    where: z = X @ b
    expr: -sum(lgamma(d + 1/s) - log(ndtr(z)) - erf(z)*log(d + exp(z)/s))
    wrt: [b, s]
    emit: [value, gradient, hessian, hvp]
  flow: {expr: sum(expm(A)**2), wrt: A, emit: [value, gradient]}
"""
WRITE = """
import sys, warnings
if sys.argv[2] == "without":
    sys.modules["scipy"] = None
warnings.simplefilter("ignore")
from tensorgen.errors import Source
from tensorgen.pipeline import compile_spec
source = Source("frailty.yaml", open(sys.argv[1]).read())
for text in compile_spec(source, ["numpy"], "cross-country").values():
    print(text)
"""


def test_texts_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "frailty.yaml"
    path.write_text(SPEC, "utf-8")
    texts = [
        subprocess.run(
            [sys.executable, "-c", WRITE, str(path), one],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for one in ("with", "without")
    ]
    assert "nll_hess" in texts[0] and texts[0] == texts[1]
