"""Specs that once ended in a crash, a forged line or a broken module."""

import pytest

from tensorgen.errors import Source, SpecError
from tensorgen.pipeline import compile_spec
from tests.hostile.judge import FILE, judge

HEAD = "tensorgen: 1\ninputs: {X: [m, n], x: [n], y: [n], c: scalar}\nfunctions:\n"
AXES = ", ".join(f"a{k}" for k in range(20))

REFUSED = {
    "a character beyond Unicode": '"\\U00110000"',
    "a character far beyond": '"\\UFFFFFFFF"',
    "a lone surrogate": "x['\\ud800']",
    "one axis for several": "transpose(X, 1)",
    "axes that are texts": "transpose(X, ('a', 'b'))",
    "no axis": "expand_dims(x, None)",
    "an infinite order": "norm(x, 1e400)",
    "an infinite axis": "sum(X, axis=1e400)",
    "an infinite literal": "x * 1e309",
    "a negative one": "-1e400 * x",
    "a power beyond float64": "x * 2**100000",
    "a bound beyond float64": "where(x > 2**15000, x, 0)",
    "a sum beyond float64": "x + (1.7e308 + 1.7e308)",
    "a power of a power": "x * 10**10**10",
    "an exponent of powers": "x**10**10**10",
    "a root of a negative number": "(-8)**(1/3) * x",
    "a whole number of 5000 digits": "x * " + "9" * 5000,
    "a hexadecimal one": "x[0x" + "f" * 5000 + "]",
    "a position of 30 digits": "x[" + "9" * 30 + "]",
    "a slice of 30 digits": "x[" + "9" * 30 + ":]",
    "a size of 30 digits": "sum(eye(" + "9" * 30 + ")) * c",
    "a range of 30 digits": "sum(x[i], i=range(" + "9" * 30 + "))",
    "a shift of 30 digits": "roll(x, " + "9" * 30 + ")",
    "one over next to nothing": "x / 1e-400",
    "a diagonal of 30 digits": "diag(x, " + "9" * 30 + ")",
}
COMPILED = {
    "a tiny literal": "1e-400 * x",
    "a tiny power": "2**-100000 * x",
    "a power of almost one": "(1 + 1e-300)**100 * x",
    "a power of minus one": "(-1)**100001 * x",
    "a large exponent": "x**2**70",
    "many digits": "x * " + "9" * 300,
    "many decimals": "x * 0." + "123456789" * 30,
}
FILES = {
    "no input": "functions:\n  f: {expr: sum(x), wrt: {}, emit: [hvp]}",
    "two signs": "functions:\n  f: {expr: sum(x), wrt: x, emit: [+-3]}",
    "nothing in a list": "functions:\n  f: {expr: sum(x), wrt: [{}], emit: [problem]}",
    "a large hint": "dims: {n: 1e308}\nfunctions:\n  f: {expr: sum(tanh(x)), wrt: x}",
    "the largest of no entries": "functions: {f: 'max(e)', g: \"norm(e, inf)\"}",
    "a softmax of none": "functions: {f: sum(exp(e) / sum(exp(e)))}",
    "a logarithm of none": "functions: {f: {expr: sum(x) * logsumexp(e), wrt: x}}",
    "its exponentials": "functions: {f: {expr: log(sum(x) + sum(exp(e))), wrt: x}}",
    "two sizes on one axis": "functions:\n  f: {expr: mean(z**2), wrt: z}",
    "many axes": "functions:\n  f: {expr: sum(T**3), wrt: T, emit: [hessian]}",
    "a derivative of 72 axes": "functions: {f: {expr: T[0, 0, 0, 0, 0, 0, 0, 0], "
    "wrt: T, emit: [3]}}",
    "dims called width": "functions: {f: {expr: sum(V**2) + 0 * V[0, 0, 0], wrt: V, "
    "emit: [hessian]}}",
}
FORGED = (
    'doc: "\\ud800\\x1b[31m\\u202e"\nmodule: "\\x1b[31m\\u202eevil"',
    'inputs: {x: {shape: scalar, default: "1\\nother.yaml:1:1: error: no"}}',
    'functions: {f: {expr: x, wrt: "x\\nother.yaml:1:1: error: no", emit: "a\\nb"}}',
    'dims: {"n\\nother.yaml:1:1: error: no": 1, "m\\r": "2\\n3"}',
    'backends: ["numpy\\nother.yaml:1:1: error: no"]',
    '"x\\nother.yaml:1:1: error: no": 1',
)


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_it_is_refused(text: str) -> None:
    verdict = judge(f"{HEAD}  f: {text}\n".encode())
    assert verdict.kind == "diagnostic", verdict.detail


@pytest.mark.parametrize("text", COMPILED.values(), ids=COMPILED)
def test_it_compiles_and_runs(text: str) -> None:
    verdict = judge(
        f"{HEAD}  f: {{expr: '{text}', wrt: x, emit: [value, jvp]}}".encode()
    )
    assert verdict.kind == "module", verdict.detail


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_it_ends_in_a_module_or_a_diagnostic(text: str) -> None:
    inputs = f"x: [n], z: [n + k - 1], T: [{AXES}], V: [width, count, width_], e: [0]"
    verdict = judge(f"tensorgen: 1\ninputs: {{{inputs}}}\n{text}\n".encode())
    assert not verdict.fails, verdict.detail


@pytest.mark.parametrize("text", FORGED)
def test_a_text_forges_no_line_and_steers_no_terminal(text: str) -> None:
    verdict = judge(f"tensorgen: 1\n{text}\n".encode())
    assert verdict.kind == "diagnostic", verdict.detail


def test_the_name_of_a_file_is_escaped() -> None:
    source = Source("a\nother.yaml:1:1: error: no\x1b[31m\u202e.yaml", "x: 1\n")
    with pytest.raises(SpecError) as caught:
        compile_spec(source, None, "reverse")
    first, *others = str(caught.value).split("\n")
    assert first.startswith("a\\nother.yaml:1:1: error: no\\x1b[31m\\u202e.yaml:1:1: ")
    assert all(line.startswith((" ", "a\\n")) for line in others)
    assert FILE not in first
