"""A function more is one line: a row of the table, or a definition of the prelude."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# The Gudermannian function, by its row.
ROW = '    Row("gd", ("1 / cosh(x)",), "np.arctan(np.sinh({0}))"),\n'
# An activation, by its definition.
DEFINITION = "swish(x, b) = x * sigmoid(b * x)\n"

USE = """
import sys
import numpy as np
import tensorgen

module = tensorgen.load('''tensorgen: 1
inputs: {x: [n], w: [n], b: scalar}
functions:
  f:
    expr: sum(w * gd(x**2))
    wrt: x
    emit: [value, gradient, hessian, hvp, 3]
  g:
    expr: sum(w * swish(x, b))
    wrt: [x, b]
    emit: [value, gradient, hessian]
''')
x, w, b = np.array([-0.8, 0.3, 1.1]), np.array([2.0, -1.0, 0.5]), 1.3

def slope(function, h=1e-30):
    return np.imag(function(x + 1j * h)) / h

def f(x):
    return w * np.arctan(np.sinh(x**2))

def df(x):
    return w * 2 * x / np.cosh(x**2)

def ddf(x):
    return w * (2 - 4 * x**2 * np.tanh(x**2)) / np.cosh(x**2)

def swish(x, b):
    return w * x / (1 + np.exp(-b * x))

close = np.testing.assert_allclose
close(module.f(x, w), f(x).sum())
close(module.f_grad(x, w), slope(f))
close(module.f_grad(x, w), df(x))
hessian = module.f_hess(x, w)
assert hessian.structure == "diagonal: H[i, j] = d[i] * delta[i, j]"
close(hessian.diagonal(), slope(df))
close(module.f_hvp(x, w, w), slope(df) * w)
close(np.einsum("iii->i", module.f_d3(x, w).dense()), slope(ddf))
close(module.g(x, w, b), swish(x, b).sum())
gradient = module.g_grad(x, w, b)
close(gradient.x, slope(lambda x: swish(x, b)))
close(gradient.b, np.imag(swish(x, b + 1e-30j)).sum() / 1e-30)
ahead, behind = (module.g_grad(x, w, b + h).x for h in (1e-5, -1e-5))
close(module.g_hess(x, w, b).dense()[:3, 3], (ahead - behind) / 2e-5, rtol=1e-6)
cupy = tensorgen.generate('''tensorgen: 1
inputs: {x: [n]}
functions: {f: gd(x)}
''', backend="cupy")
assert "f = atan(sinh(x));" in cupy
print(tensorgen.__file__)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with two lines more."""
    folder = tmp_path_factory.mktemp("extended")
    for part in ("tensorgen", "templates"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / part, folder / part, ignore=ignored)
    table = folder / "tensorgen/operators/elementwise.py"
    text = table.read_text(encoding="utf-8")
    table.write_text(text.replace("_ROWS = (\n", f"_ROWS = (\n{ROW}", 1), "utf-8")
    with (folder / "tensorgen/lang/prelude.tg").open("a", encoding="utf-8") as prelude:
        prelude.write(DEFINITION)
    return folder


def test_a_row_and_a_definition_are_all_that_functions_need(copy: Path) -> None:
    # -P: the folder of the test does not come before that of the copy.
    done = subprocess.run(
        [sys.executable, "-P", "-c", USE],
        cwd=copy,
        env={"PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(copy)
