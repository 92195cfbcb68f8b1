"""What is read of a function over NumPy, and what is refused: where, and why."""

from __future__ import annotations

import pytest

import tensorgen
from tensorgen.frontends.numpy_functions import read_numpy_function

HEAD = "import numpy as np\n"


def spec_of(text: str, wrt: str = "x", **shapes: str) -> str:
    """Return the functions of the spec that a text stands for."""
    found = read_numpy_function(HEAD + text, "f.py", {"x": "n", **shapes}, wrt)
    return found.spec.partition("functions:\n")[2]


def told(text: str, wrt: str = "x", **shapes: str) -> str:
    """Return the fault of a text that cannot be read."""
    with pytest.raises(tensorgen.SpecError) as caught:
        read_numpy_function(HEAD + text, "f.py", {"x": "n", **shapes}, wrt)
    return str(caught.value)


def fault(statement: str, **shapes: str) -> tuple[str, str]:
    """Return what a fault says, and the part of the file that it underlines."""
    names = ", ".join(["x", *shapes])
    head, line, marked, *_ = told(
        f"def f({names}):\n    {statement}\n    return x\n", **shapes
    ).split("\n")
    under = marked.replace("^", "~")
    return head.split("error: ")[1], line[under.index("~") : under.rindex("~") + 1]


def test_faults_of_a_batch_point_at_what_was_said() -> None:
    body = "def f(x, y=1.0):\n    return x\n"
    at_name = "f.py:2:7: error: 'x' is of one sample, and B is how many there are"
    assert told(body, x="B n batch: B").startswith(at_name)
    assert "a batch axis has a size by name, not '3'" in told(body, x="n batch: 3")
    assert "f.py:2:10: error: what has a default is" in told(body, y="batch: B")
    assert "'f' has no argument 'batch'" in told(body, batch="B")
    assert 'hint: say of which arguments there are samples: x="n' in told(
        body, batch="B"
    )


def test_sizes_may_have_the_name_of_a_batch() -> None:
    found = read_numpy_function(
        f"{HEAD}def f(x):\n    return np.sum(x)\n", "f.py", {"x": "batch n"}, "x"
    )
    assert "x: [batch, n]" in found.spec


def test_a_function_becomes_the_text_that_one_would_write() -> None:
    found = read_numpy_function(
        '''
import numpy as np

RATE = 2 * np.pi


def halved(v, by=2):
    scaled = v / by
    return scaled


def loss(w, X, y, lam=1e-2, *, scaled=True):
    """Squared error: of a linear model.

    More of it is not told.
    """
    m, n = X.shape
    residual = X.dot(w) - y
    total = np.sum(residual ** 2, axis=0)
    if scaled:
        total = total / (2 * m)
    unused = np.exp(total)
    return halved(total) + lam * np.linalg.norm(w) * RATE / len(w)
''',
        "loss.py",
        {"w": "n", "X": "m n", "y": "m"},
        "w",
        ["value", "gradient", "hvp"],
        name="loss",
        dims={"m": 2000, "n": 10},
    )
    assert found.remarks == ()
    assert found.spec == """\
tensorgen: 1
module: loss
dims: {m: 2000, n: 10}
inputs:
  w: [n]
  X: [m, n]
  y: [m]
  lam: {shape: scalar, default: 0.01}
functions:
  loss:
    doc: "Squared error: of a linear model."
    where: |
      residual = X @ w - y
      total = sum(residual**2, axis=0)
      total_2 = total / (2*m)
      scaled = total_2 / 2
    expr: scaled + lam * norm(w) * (2 * pi) / n
    wrt: w
    emit: [value, gradient, hvp]
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("def f(x):\n    return (x - (1 - x)) / (x * x)\n", "(x - (1 - x)) / (x * x)"),
        ("def f(x):\n    return -x**2 + (-x)**2\n", "-x**2 + (-x)**2"),
        ("def f(x):\n    return (x > 0) & ~(x > 1)\n", "(x > 0) & ~(x > 1)"),
        (
            "def f(x):\n    n = x.size\n    n = n - 1\n    return x[n] / n\n",
            "/ (n - 1)",
        ),
        ("def f(x):\n    x = np.asarray(x)\n    return x\n", "expr: x\n"),
        ("def f(x):\n    z = x.T + 1\n    z -= x\n    return z\n", "z_2 = z - x"),
        ("def norm(x):\n    return np.linalg.norm(x)\n", "  norm_:\n    expr: norm(x)"),
        ("def f(x):\n    sum = np.sum(x)\n    return sum\n", "sum_ = sum(x)"),
        ("def f(x):\n    _s = x + 1\n    return _s * _s\n", "s = x + 1"),
        ("def f(x):\n    μ = x + 1\n    return μ * μ\n", "mu = x + 1"),
        ("def f(x):\n    e = x + 1\n    return e * e * np.e\n", "e * e * exp(1)"),
        ("def f(x):\n    a, b = x[0], x[1:]\n    return a * b\n", "a = x[0]"),
        ("def f(x):\n    return x if x.ndim == 1 else x.sum()\n", "expr: x\n"),
        (
            "def f(x):\n    with np.errstate(all='ignore'):\n        y = np.log(x)\n"
            "    return y\n",
            "y = log(x)",
        ),
        (
            "def f(x):\n    if x.shape != (len(x),):\n        raise ValueError\n"
            "    return x\n",
            "expr: x\n",
        ),
    ],
)
def test_names_and_parentheses_stay_what_they_mean(text: str, wanted: str) -> None:
    assert wanted in spec_of(text)


def test_shapes_state_promises_and_integers() -> None:
    text = "def f(x, K, y, z, q):\n    return K @ x + z[y[0]] + np.sum(q // 2) + y[1]\n"
    shapes = {"x": "n", "K": "n n spd", "y": "3 int", "z": "2*k + 1", "q": "m int"}
    spec = read_numpy_function(HEAD + text, "f.py", shapes).spec
    assert "K: {shape: [n, n], spd: true}" in spec
    assert "y: {shape: [3], index: 2*k + 1}" in spec
    assert "q: [m]" in spec


def test_only_what_is_not_assumed_is_remarked() -> None:
    text = (
        "def f(x, A):\n    assert x.ndim == 1\n    return np.linalg.cholesky(A) @ x\n"
    )
    found = read_numpy_function(HEAD + text, "f.py", {"x": "n", "A": "n n"})
    assert len(found.remarks) == 2
    assert found.remarks[0] == "assertions are left out: line 3"
    assert "one triangle" in found.remarks[1]


@pytest.mark.parametrize(
    ("statement", "message", "marked"),
    [
        ("for v in x: pass", "a loop cannot be read", "for v in x: pass"),
        ("y = [v for v in x]", "a comprehension cannot be read", "[v for v in x]"),
        ("x[0] = 1", "writing into an array cannot be read", "x[0]"),
        ("x += 1", "this writes into an array that others see", "x += 1"),
        ("x.sort()", "a statement without a result cannot be read", "x.sort()"),
        ("y = x[x > 0]", "entries cannot be chosen by conditions", "x > 0"),
        ("y = x[[0, 1]]", "a list of positions cannot be read", "[0, 1]"),
        ("y = np.fft.fft(x)", "numpy.fft.fft is not among", "np.fft.fft(x)"),
        ("y = (x > 0) + (x < 1)", "'+' of two conditions", "(x > 0) + (x < 1)"),
        ("y = np.exp(x > 0)", "numpy.exp goes by other rules", "np.exp(x > 0)"),
        ("y = 0 < x < 1", "a chain of comparisons", "0 < x < 1"),
        ("y = x > 0 and x < 1", "'and' and 'or' need what is known", "x > 0"),
        ("y = x ^ 2", "there is no such operator", "x ^ 2"),
        ("y = np.sum(x, out=x)", "'out' is not known here", "x"),
        ("y = np.sum(x, dtype=np.float32)", "there is no such dtype", "np.float32"),
        ("y = x.astype(int)", "a cast to integers cuts values", "x.astype(int)"),
        ("y = np.arange(len(x))**-1", "a whole number to a negative power", "np."),
        ("y = lam * x", "unknown name 'lam'", "lam"),
        ("y = np.linalg.norm(x, 3)", "there is no norm of this order", "3"),
        ("y = np.round(x, 2)", "decimals cannot be read", "2"),
        ("y = np.roll(np.outer(x, x), 1)", "rolled over all entries", "np.roll("),
        ("y = [x] + 1", "a list or a tuple is no array here", "[x]"),
        ("y = x.sum(axes=0)", "'axes' of numpy.sum cannot be read", "axes=0"),
        ("y = np.sum(x, 0, None, None, 1, 2, 3, 4)", "numpy.sum takes no more", "4"),
        ("y = np.where(x > 0)", "numpy.where needs 'x'", "np.where(x > 0)"),
        ("a, b = x", "this does not have 2 items for sure", "x"),
        ("y = x[0:x[0]]", "a limit is a whole number", "x[0]"),
        ("y = 2j * x", "complex numbers are not part", "2j"),
        ("y = np.nan * x", "NaN is no number", "np.nan"),
        ("y = x[0, 0]", "the array has 1 axes", "0, 0"),
        ("y = lambda v: v", "a lambda cannot be read", "lambda v: v"),
        ("y = x if x[0] > 0 else 0", "'if' needs one condition, and one shape", "x if"),
        ("if x[0] > 0: return x", "'if' needs what is known from shapes", "x[0] > 0"),
        ("y = x.mean", "", ""),
        ("return x, x", "several values are returned", "x, x"),
    ],
)
def test_what_cannot_be_read_is_marked(
    statement: str, message: str, marked: str
) -> None:
    if not message:
        assert "expr: x" in spec_of(f"def f(x):\n    {statement}\n    return x\n")
        return
    said, place = fault(statement)
    assert said.startswith(message)
    assert place.startswith(marked)


def test_a_fault_of_shapes_is_told_in_the_file_of_the_function() -> None:
    text = "def f(x, A, b):\n    z = np.log(A\n        @ x + b)\n    return z\n"
    assert told(text, A="m n", b="n") == (
        "f.py:4:13: error: shapes do not match in '+'\n"
        "    4 |         @ x + b)\n"
        "      |             ^ ~\n"
        "      |               (n,)\n"
        "    3 |     z = np.log(A\n"
        "      |                ~\n"
        "      |                (m,)\n"
        "   hint: b has shape (n,); did you mean A @ (x + b)?"
    )


def test_a_fault_in_a_function_that_is_called_is_told_there() -> None:
    text = (
        "def inner(v):\n    return np.cumsum(v, axis=1)\n"
        "def f(x):\n    return inner(x + 1)\n"
    )
    with pytest.raises(tensorgen.SpecError) as caught:
        read_numpy_function(HEAD + text, "f.py", {"x": "n"}, name="f")
    assert str(caught.value).startswith("f.py:3:12: error: axis 1 is outside")


@pytest.mark.parametrize(
    ("shapes", "wrt", "message"),
    [
        ({"y": "n"}, "x", "f.py:2:7: error: the shape of 'x' is not stated"),
        ({"x": "n", "z": "n"}, "x", "f.py:2:5: error: 'f' has no argument 'z'"),
        ({"x": "n", "y": "n"}, "q", "f.py:2:5: error: 'f' has no argument 'q'"),
        ({"x": "n", "y": "n ?"}, "x", "f.py:2:10: error: this is no shape"),
        ({"x": "n", "y": "y"}, "x", "f.py:2:10: error: 'y' is the name of"),
        ({"x": "n", "y": "m n spd"}, "x", "f.py:2:10: error: only a square matrix"),
    ],
)
def test_wrong_shapes_are_told(shapes: dict[str, str], wrt: str, message: str) -> None:
    text = HEAD + "def f(x, y):\n    return x + y\n"
    with pytest.raises(tensorgen.SpecError) as caught:
        read_numpy_function(text, "f.py", shapes, wrt)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(x)\n    return x\n", "f.py:2:9: error: this is no Python"),
        ("x = 1\n", "f.py:1:1: error: there is no function in this file"),
        ("def g(x):\n    return g(x)\n", "f.py:3:12: error: 'g' is defined by itself"),
        ("def f(x):\n    y = x\n", "f.py:2:5: error: the function returns nothing"),
        ("def f(*x):\n    return x\n", "f.py:2:8: error: any number of arguments"),
        ("a = b\nb = a\ndef f(x):\n    return a * x\n", "f.py:3:5: error: 'a' is"),
        (f"def f(x):\n    return {'-' * 90}x\n", "f.py:3:"),
    ],
)
def test_other_files_are_told(text: str, message: str) -> None:
    assert told(text).startswith(message)


def test_a_long_chain_is_not_too_deep() -> None:
    text = f"def f(x):\n    return {' + '.join(['x'] * 300)}\n"
    assert f"expr: {' + '.join(['x'] * 300)}" in spec_of(text)


def test_nothing_of_a_file_is_run() -> None:
    text = "import no_such_package\n1 / 0\ndef f(x):\n    return x\n"
    assert "expr: x" in spec_of(text)
