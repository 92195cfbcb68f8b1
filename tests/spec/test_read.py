"""What a right spec is read as."""

from fractions import Fraction
from textwrap import dedent

import pytest

from tensorgen.errors import Source
from tensorgen.ir.dims import Dim
from tensorgen.spec.model import Definition, FunctionSpec, InputSpec, Spec
from tensorgen.spec.read import read_spec


def read(body: str, name: str = "case.yaml") -> Spec:
    return read_spec(Source(name, "tensorgen: 1\n" + dedent(body)))


def function(body: str) -> FunctionSpec:
    """Return the one function of a spec with some inputs."""
    head = "inputs: {w: [n], X: [m, n], y: [m], b: scalar}\nfunctions:\n"
    (found,) = read(head + body + "\n").functions
    return found


def given(shape: str) -> InputSpec:
    (found,) = read(f"inputs:\n  x: {shape}\nfunctions: {{f: x}}\n").inputs
    return found


def shown(definition: Definition) -> str:
    brackets = ""
    for left, right, names in (
        ("[", "]", definition.indices),
        ("(", ")", definition.parameters),
    ):
        if names is not None:
            brackets += left + ", ".join(map(str, names)) + right
    return f"{definition.name}{brackets} = {definition.body}"


EXAMPLE = """\
module: logreg
doc: Logistic regression.
dims: {m: 2000, n: 1000}
inputs:
  w: [n]
  X: {shape: [m, n], doc: data matrix, one sample a row}
  y: [m]
  lam: {shape: scalar, default: 1e-3}
functions:
  loss:
    doc: Penalised negative log-likelihood.
    where: |
      z = X @ w
      t[i] = -y[i] * z[i]
    expr: sum(log(1 + exp(t))) + lam * norm(w)**2
    wrt: w
    emit: [value, gradient, hessian, hvp, problem]
  plain: sum(w**2)
  f[i, j]: X[i, j] * w[j]
"""


def test_the_example_of_the_contract_is_read() -> None:
    spec = read(EXAMPLE)
    assert (spec.module, spec.doc) == ("logreg", "Logistic regression.")
    assert spec.hints == (("m", 2000), ("n", 1000))
    assert spec.backends == ("numpy", "cupy")
    assert [(i.name, list(map(str, i.shape))) for i in spec.inputs] == [
        ("w", ["n"]),
        ("X", ["m", "n"]),
        ("y", ["m"]),
        ("lam", []),
    ]
    assert spec.inputs[1].doc == "data matrix, one sample a row"
    assert spec.inputs[3].default == Fraction(1, 1000)
    loss, plain, f = spec.functions
    assert loss.doc == "Penalised negative log-likelihood."
    assert list(map(shown, loss.where)) == ["z = X @ w", "t[i] = -y[i] * z[i]"]
    assert loss.expr.value == "sum(log(1 + exp(t))) + lam * norm(w)**2"
    assert [w.name for w in loss.wrt] == ["w"]
    kinds = ["value", "gradient", "hessian", "hvp", "problem"]
    assert [e.kind.name for e in loss.emit] == kinds
    assert (plain.expr.value, plain.indices, plain.emit) == ("sum(w**2)", None, ())
    assert f.indices is not None and list(map(str, f.indices)) == ["i", "j"]


def test_every_text_knows_its_place_in_the_file() -> None:
    spec = read(EXAMPLE)
    raw = spec.source.text
    loss = spec.functions[0]
    texts = [loss.expr, loss.where[1].body, loss.where[1].name_text, loss.wrt[0].text]
    texts += [loss.emit[2].text, spec.inputs[1].name_text, *spec.functions[2].indices]  # type: ignore[misc]
    for text in texts:
        span = text.span()
        assert raw[span.start : span.end] == text.value
    assert loss.where[1].body.span().line == raw[: raw.index("-y[i]")].count("\n") + 1


@pytest.mark.parametrize(
    ("written", "shape"),
    [
        ("scalar", ()),
        ("[]", ()),
        ("[n]", ("n",)),
        ("[n + k - 1]", ("k + n - 1",)),
        ("[2*n, 3]", ("2*n", "3")),
        ("[2 * (n - 1) + 1]", ("2*n - 1",)),
        ("['n', \"m\"]", ("n", "m")),
        ("\n    - n\n    - m + 1", ("n", "m + 1")),
        ("[-1 + n]", ("n - 1",)),
        ("[yes]", ("yes",)),
        ("[" + "-" * 190 + "n]", ("n",)),
    ],
)
def test_shapes_are_affine_in_dims(written: str, shape: tuple[str, ...]) -> None:
    for form in (written, f"\n    shape: {written}"):
        assert tuple(map(str, given(form).shape)) == shape


def test_dims_are_a_mapping_or_a_list_and_shapes_add_to_them() -> None:
    tail = "inputs: {x: [a, n]}\nfunctions: {f: x}\n"
    assert read("dims: {n: 3, m: null, k:}\n" + tail).hints == (
        ("n", 3),
        ("m", None),
        ("k", None),
        ("a", None),
    )
    assert read("dims: [n, m]\n" + tail).hints == (
        ("n", None),
        ("m", None),
        ("a", None),
    )
    assert read("dims: {n: 1e3}\n" + tail).hints[0] == ("n", 1000)
    assert read(tail).hints == (("a", None), ("n", None))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1e-3", Fraction(1, 1000)),
        ("0.1", Fraction(1, 10)),
        (".5", Fraction(1, 2)),
        ("-3.", Fraction(-3)),
        ("'2'", Fraction(2)),
        ("1_000", Fraction(1000)),
        ("+1E+2", Fraction(100)),
        ("010", Fraction(10)),
        ("1/3", Fraction(1, 3)),
        ("-1 / 2e3", Fraction(-1, 2000)),
    ],
)
def test_defaults_are_exact(written: str, value: Fraction) -> None:
    assert given(f"{{shape: scalar, default: {written}}}").default == value


def test_properties_imply_what_follows_from_them() -> None:
    assert given("{shape: [n, n], spd: true}").properties == {"spd", "symmetric"}
    assert given("{shape: [n], positive: yes}").properties == {
        "positive",
        "nonnegative",
    }
    assert given("{shape: [n], positive: no}").properties == frozenset()


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("{shape: [n, n, n], symmetric: all}", ["symmetric 0 1 2"]),
        ("{shape: [n, n, n], symmetric: [2, 0]}", ["symmetric 0 2"]),
        ("{shape: [n, n, n], symmetric: true}", ["symmetric"]),
        ("{shape: [n, n, n], symmetric: [1, 2]}", ["symmetric"]),
        ("{shape: [n, n], symmetric: all}", ["symmetric"]),
        (
            "{shape: [m, m, n, n], symmetric: [[0, 1], [2, 3]]}",
            ["symmetric", "symmetric 0 1"],
        ),
        ("{shape: [n, n], symmetric: [0, 1], spd: true}", ["spd", "symmetric"]),
    ],
)
def test_a_promise_names_axes_that_may_be_exchanged(
    written: str, words: list[str]
) -> None:
    assert sorted(given(written).properties) == words


def test_an_index_array_has_the_dim_that_it_points_into() -> None:
    found = given("{shape: [E], index: m + 1}")
    assert found.index == Dim.symbol("m") + 1


@pytest.mark.parametrize(
    ("wrt", "expected"),
    [
        # A promise alone changes nothing: entries count as independent.
        ("[S, x]", [("S", ""), ("x", "")]),
        ("{S: symmetric}", [("S", "symmetric")]),
        ("[{S: symmetric}, x]", [("S", "symmetric"), ("x", "")]),
        ("\n    - {S: skew}\n    - x", [("S", "skew"), ("x", "")]),
    ],
)
def test_wrt_asks_for_a_subspace(wrt: str, expected: list[tuple[str, str]]) -> None:
    spec = read(
        "inputs: {S: {shape: [n, n], spd: true}, x: [n]}\n"
        f"functions:\n  f:\n   expr: x @ S @ x\n   wrt: {wrt}\n"
    )
    assert [(w.name, w.subspace) for w in spec.functions[0].wrt] == expected


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("yes", "yes"),
        ("no", "no"),
        ("1e3", "1e3"),
        ("null", "null"),
        ("~", "~"),
        ("010", "010"),
        ("-y", "-y"),
        ("2001-01-01", "2001-01-01"),
        ("'it''s'", "it's"),
        ('"a\\x41\\n b"', "aA  b"),
        ("X[:, -1] + x[1:n - 1]", "X[:, -1] + x[1:n - 1]"),
        ("a  # a comment", "a"),
        ("|\n      a +  # a comment\n        b\n", "a +                b"),
        (">-\n      a +\n      b", "a + b"),
        ("a +\n      b", "a + b"),
        ("[1, 2*b, 3]", "[1, 2*b, 3]"),
        ("[1,\n       2]", "[1,        2]"),
    ],
)
def test_an_expression_is_its_text_whatever_yaml_makes_of_it(
    written: str, value: str
) -> None:
    assert function(f"  f: {written}\n").expr.value == value
    assert function(f"  f:\n    expr: {written}\n").expr.value == value


@pytest.mark.parametrize("name", ["yes", "no", "on", "null", "y1", "e", "pi", "N"])
def test_a_name_stays_text_whatever_yaml_makes_of_it(name: str) -> None:
    spec = read(f"inputs: {{{name}: [n]}}\nfunctions: {{f: {{expr: 1, wrt: {name}}}}}")
    assert spec.inputs[0].name == spec.functions[0].wrt[0].name == name


@pytest.mark.parametrize(
    "written",
    [
        """
        where: |
          # a comment alone
          z = X @ w   # scores

          t[i] = -y[i] * sum(
            X[i, j],   # one ) too many in a comment
          j)
          s[i, j] = X[i, j] == y[i]
            + 1
        """,
        """
        where:
          z: X @ w
          t[i]: "-y[i] * sum(   X[i, j], j)"
          s[i, j]: X[i, j] == y[i]
            + 1
        """,
    ],
)
def test_definitions_stand_in_a_block_or_a_mapping(written: str) -> None:
    body = "  f:" + dedent(written).replace("\n", "\n    ") + "\n    expr: z"
    where = function(body).where
    assert [" ".join(shown(d).split()) for d in where] == [
        "z = X @ w",
        "t[i] = -y[i] * sum( X[i, j], j)",
        "s[i, j] = X[i, j] == y[i] + 1",
    ]


def test_a_single_definition_may_stand_on_the_line() -> None:
    found = function("  f:\n    where: z = sum(X, axis=0)\n    expr: z")
    assert list(map(shown, found.where)) == ["z = sum(X, axis=0)"]


def test_a_flow_mapping_holds_definitions_too() -> None:
    found = function('  f: {where: {z: X @ w, "s[i]": "z[i]"}, expr: sum(z), wrt: w}')
    assert list(map(shown, found.where)) == ["z = X @ w", "s[i] = z[i]"]


@pytest.mark.parametrize(
    "written",
    [
        "definitions:\n  huber(t, d): where(abs(t) <= d, t, d)\n  c: 2\n",
        "definitions: |\n  huber(t, d) = where(abs(t) <= d, t, d)\n  c = 2\n",
    ],
)
def test_macros_have_parameters(written: str) -> None:
    spec = read(written + "inputs: {x: [d]}\nfunctions:\n  f: huber(x, c)\n")
    assert list(map(shown, spec.definitions)) == [
        "huber(t, d) = where(abs(t) <= d, t, d)",
        "c = 2",
    ]


def test_emit_takes_names_orders_and_mixed_lists() -> None:
    one = function("  f: {expr: w, wrt: w, emit: [value, jacobian, 3, 4]}")
    assert [(e.kind.name, e.inputs) for e in one.emit] == [
        ("value", ()),
        ("jacobian", ()),
        ("order", ("w",) * 3),
        ("order", ("w",) * 4),
    ]
    two = function("  f:\n    expr: b\n    wrt: [w, y]\n    emit: [[w, y], [w, w, y]]")
    assert [(e.kind.name, e.inputs) for e in two.emit] == [
        ("mixed", ("w", "y")),
        ("mixed", ("w", "w", "y")),
    ]
    assert two.emit[1].text.value == "w, w, y"
    assert function("  f: {expr: b, emit: value}").emit[0].kind.name == "value"


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("logreg.yaml", "logreg"),
        ("some/dir/a_1.yml", "a_1"),
        ("two-layers.v2.yaml", "two_layers_v2"),
        ("<text>", "spec"),
    ],
)
def test_the_module_is_named_after_the_file(file: str, module: str) -> None:
    assert read("functions: {f: 1}", file).module == module


def test_backends_are_one_or_a_list() -> None:
    assert read("backends: cupy\nfunctions: {f: 1}").backends == ("cupy",)
    assert read("backends: [cupy, numpy]\nfunctions: {f: 1}").backends == (
        "numpy",
        "cupy",
    )


def test_empty_sections_are_as_good_as_none() -> None:
    spec = read("doc:\ninputs:\ndefinitions:\nfunctions:\n  f: {expr: 1, where:, doc:}")
    assert (spec.doc, spec.inputs, spec.definitions) == (None, (), ())


def test_a_doc_may_be_a_block_of_any_text() -> None:
    spec = read('doc: |\n  Line """one""".\n\n  Line: {two} # three\nfunctions: {f: 1}')
    assert spec.doc == 'Line """one""".\n\nLine: {two} # three'


def test_the_commas_of_a_doc_cut_it_nowhere() -> None:
    found = given("{shape: [n, n], doc: one, two (a,\n   b), three, spd: yes}")
    assert found.doc == "one, two (a, b), three"
    assert "spd" in found.properties


def test_a_byte_order_mark_and_a_document_start_do_no_harm() -> None:
    text = "\ufeff---\ntensorgen: 1\nfunctions: {f: x2}\n...\n"
    spec = read_spec(Source("a.yaml", text))
    span = spec.functions[0].expr.span()
    assert text[span.start : span.end] == "x2"
