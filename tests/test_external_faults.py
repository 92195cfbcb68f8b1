"""What is wrong with functions from outside: paths, declarations and calls."""

from __future__ import annotations

import pytest

import tensorgen
from tensorgen.errors import SpecError

HOSTILE = [
    "phi",
    ".phi",
    "..os.system",
    "os.",
    "os..system",
    "os.system('ls')",
    "os.system; import sys",
    "os import system as x\\nimport os",
    "os.class",
    "import.phi",
    "numpy.__builtins__",
    "__main__.phi",
    "numpy.__init__",
    "numpy.sin #",
    "numpy .sin",
    "numpy.\\tsin",
    "p\u00e9.phi",
    "numpy.s\u0131n",
    "numpy.s\\u2028in",
    "a." + "b" * 250,
    "1a.phi",
    "a-b.phi",
    "{__import__}.x",
]


@pytest.mark.parametrize("path", HOSTILE)
def test_paths_that_are_no_paths_are_refused(path: str) -> None:
    spec = "tensorgen: 1\ninputs: {x: [n]}\nexternal:\n"
    spec += f'  phi: {{call: "{path}"}}\nfunctions: {{f: phi(x)}}\n'
    with pytest.raises(SpecError, match="is no path to a function"):
        tensorgen.generate(spec, allow_external=True)


def wrong(section: str, function: str = "f: sum(x)", head: str = "") -> str:
    """What is said of a section, with other functions declared before."""
    spec = "tensorgen: 1\ninputs: {x: [n], w: [n], A: [m, n]}\nexternal:\n"
    spec += "  dphi: {call: a.d}\n"
    spec += f"  {section}\n{head}functions:\n  {function}\n"
    with pytest.raises(SpecError) as caught:
        tensorgen.generate(spec, allow_external=True)
    return caught.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("phi: a.b", "the function 'phi' needs what it calls"),
        ("phi: {derivative: x}", "'phi' has no 'call'"),
        ("phi: {call: a.b, run: x}", "'run' is not a key of a function from outside"),
        ("phi: {call: [a, b]}", "'call' must be a path, not"),
        ("phi: {call: {}}", "'call' names no function"),
        ("phi: {call: {torch: a.b}}", "'torch' is not a key of 'call'"),
        ("phi: {call: {numpy: a.b}}", "'phi' has no function for the backend 'numpy'"),
        ("phi: {call: a.b, args: []}", "'phi' has no arguments"),
        ("phi: {call: a.b, args: [y, y]}", "'phi' has two arguments 'y'"),
        ("phi: {call: a.b, args: [lambda]}", "'lambda' cannot be the name"),
        ("phi: {call: a.b, shape: [n]}", "'phi' has shapes of its arguments or"),
        ("phi: {call: a.b, args: {y: [n]}}", "'phi' has shapes of its arguments or"),
        (
            "phi: {call: a.b, args: {y: [n]}, shape: [k]}",
            "the size 'k' of 'phi' is that of no argument",
        ),
        ("phi: {call: a.b, vjp: ct}", "'phi' is elementwise, and 'vjp' is for arrays"),
        ("phi: {call: a.b, derivative: sum(A)}", "unknown name 'A'"),
        ("phi: {call: a.b, derivative: '[x, x]'}", "must have shape ()"),
        (
            "phi: {call: a.b, args: [x, y], derivative: x}",
            "'derivative' of 'phi' is by several arguments",
        ),
        (
            "phi: {call: a.b, derivative: sum(x * arange(3))}",
            "the derivative of 'phi' is not elementwise",
        ),
        (
            "phi: {call: a.b, args: {y: [n]}, shape: [n], jvp: sum(dy)}",
            "the jvp of 'phi' must have shape (n,)",
        ),
        (
            "phi: {call: a.b, args: {ct: [n]}, shape: [n], vjp: ct}",
            "'ct' is an argument of 'phi', and what a vjp is given",
        ),
        (
            "phi: {call: a.b, args: {y: [n], dy: [n]}, shape: [n], jvp: dy}",
            "'dy' is an argument of 'phi', and what a jvp is given",
        ),
        ("x: {call: a.b}", "'x' is the name of an input and of a function"),
        ("np: {call: a.b}", "'np' cannot be the name of a function"),
    ],
)
def test_wrong_declarations_are_told(section: str, message: str) -> None:
    if "for the backend" in message:
        section = section.replace("numpy", "cupy")
    assert message in wrong(section)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("f: dphi(x, w)", "'dphi' takes 1 argument"),
        ("f: dphi(x=x)", "'dphi' takes 1 argument"),
        ("f: dphi * x", "'dphi' is a function from outside with parameters"),
        ("f: 'phi(A, x)'", "'b' of 'phi' has shape (m,)"),
        (
            "f: {expr: sum(dphi(x)), wrt: x}",
            "'f': 'dphi' has no derivative by its argument 'x'",
        ),
        (
            "f: {expr: 'sum(phi(x * A, A[:, 0]))', wrt: x}",
            "'f': 'phi' has no derivative by its argument 'A'",
        ),
    ],
)
def test_wrong_calls_are_told(function: str, message: str) -> None:
    section = "phi: {call: a.b, args: {A: [m, n], b: [m]}, shape: [m]}"
    assert wrong(section, function) == message
