"""What a wrong spec is told, and where."""

import pytest

import tensorgen
from tensorgen.errors import Diagnostic, Source, SpecError
from tensorgen.spec.read import read_spec

HEAD = "tensorgen: 1\ninputs: {w: [n], X: [m, n], lam: scalar}\nfunctions:\n"


def faults(text: str, name: str = "a.yaml") -> tuple[Diagnostic, ...]:
    with pytest.raises(SpecError) as caught:
        read_spec(Source(name, text))
    for fault in caught.value.diagnostics:
        assert fault.span is not None
        assert fault.render()
    return caught.value.diagnostics


def summary(text: str) -> list[str]:
    """Return `line:column: message (hint)` of every fault."""
    return [
        f"{d.span.line}:{d.span.column}: {d.message}" + (f" ({d.hint})" * bool(d.hint))
        for d in faults(text)
        if d.span is not None
    ]


def only(text: str, *parts: str) -> None:
    """Check that there is one fault, and that it says `parts`."""
    (line,) = summary(text)
    for part in parts:
        assert part in line, line


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["1:1: the file is empty"]),
        ("# nothing\n", ["the file is empty"]),
        ("hello", ["1:1: a mapping is expected, not 'hello'"]),
        ("- tensorgen: 1\n", ["1:1: a mapping is expected, not a list"]),
        ("functions: {f: 1}", ["1:1: the file does not say 'tensorgen: 1'"]),
        ("tensorgen: 2\nfunctions: {f: 1}", ["1:12: the format version '2'"]),
        ("tensorgen: 1.0\nfunctions: {f: 1}", ["'1.0' is unknown"]),
        ("tensorgen:\nfunctions: {f: 1}", ["1:1:", "must be a string, not nothing"]),
        ("tensorgen: 1\n", ["1:1: the file has no 'functions'"]),
        ("tensorgen: 1\nfunctions:\n", ["2:1:", "must be a mapping, not nothing"]),
        ("tensorgen: 1\n---\na: 1\n", ["2:1:", "a second one starts"]),
        ("tensorgen: 1\nfunctoins: {f: 1}\nfunctions: {f: 1}", ["2:1: 'functoins'"]),
        ("tensorgen: 1\nfunctions: {f: 1}\n<<: {a: 1}", ["3:1:", "merge keys"]),
        ("tensorgen: 1\nfunctions: {f: 1}\n? [a]\n: 1", ["3:3: a name is expected"]),
        ("tensorgen: 1\nmodule: a-b\nfunctions: {f: 1}", ["2:9: 'a-b' cannot be"]),
        ("tensorgen: 1\nbackends: [jax]\nfunctions: {f: 1}", ["2:12: 'jax' is not"]),
        ("tensorgen: 1\nsupport: shard\nfunctions: {f: 1}", ["2:10: 'shard' is no"]),
        ("tensorgen: 1\nbackends: []\nfunctions: {f: 1}", ["2:1:", "names none"]),
        ("tensorgen: 1\nfunctions: {f: 1}\ndoc: [a]", ["3:1: 'doc' must be a string"]),
    ],
)
def test_what_is_wrong_with_the_file_as_a_whole_is_said(
    text: str, parts: list[str]
) -> None:
    only(text, *parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a: 1\n\tb: 2\n", ["2:1:", "no tabs", "spaces"]),
        ("a: @x\n", ["1:4:", "cannot start like this", "a: |", "  @x"]),
        ("a: f(x: y)\n", ["1:7:", "cuts this text at ': '", "a: |", "  f(x: y)"]),
        ("a: [x[0], 1]\n", ["1:6:", "a: |", "[x[0], 1]"]),
        ("a: 'b' + c\n", ["1:8:", "does not continue"]),
        ("a: 1\n  b: 2\n", ["2:3:", "does not continue", "indented alike"]),
        ("a: {b: ]}\n", ["1:8:", "found ']'"]),
        ("a: {doc: b: c, d: e}\n", ["1:11:", "doc: |", "  b: c"]),
        ("a: 'b\n", ["2:1:", "unexpected end"]),
        ("a: &x 1\n", ["1:4:", "no YAML anchors"]),
        ("a: *x\n", ["1:4:", "no YAML aliases", "quote"]),
        ("a: !!python/object:os.system 1\n", ["1:4:", "no YAML tags"]),
        ("a: \x00\n", ["1:4:", "U+0000"]),
        ("[" * 5000, ["1:17: the file is nested too deeply"]),
        ("a:\n" + "".join(" " * i + "- \n" for i in range(1, 60)), ["too deeply"]),
    ],
)
def test_broken_yaml_is_reported_with_the_place(text: str, parts: list[str]) -> None:
    only(text, *parts)


@pytest.mark.parametrize(
    ("written", "cut", "block"),
    [
        ("f: {expr: sum(X, axis=0), wrt: X}", ",", "      expr: sum(X, axis=0)"),
        (
            "f: {expr: sum(X[i, j], i, j), wrt: X}",
            "[",
            "      expr: sum(X[i, j], i, j)",
        ),
        ("f: {wrt: w, expr: g(w: 2)}", ":", "        g(w: 2)"),
        ("f: {expr: sum(w #x\n    ), wrt: w}", "#", "      expr: sum(w )"),
        ("f: {expr: w[0], wrt: w}", "[", "      wrt: w"),
    ],
)
def test_an_expression_that_yaml_cuts_is_shown_in_block_form(
    written: str, cut: str, block: str
) -> None:
    (fault,) = faults(HEAD + "  " + written)
    assert f"YAML cuts this expression at '{cut}'" in fault.message
    assert fault.span is not None
    assert fault.span.source.text[fault.span.start] == cut
    assert fault.hint is not None and block in fault.hint.splitlines()


def test_reading_goes_on_behind_an_expression_that_yaml_cuts() -> None:
    lines = summary(HEAD + "  f: {expr: sum(X, axis=0), emti: value}\n  g: {wrt: w}\n")
    assert [line.split(":")[:2] for line in lines] == [
        ["4", "18"],
        ["4", "29"],
        ["5", "3"],
    ]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("2x", "ASCII letter"),
        ("_x", "ASCII letter"),
        ("__class__", "ASCII letter"),
        ("x-y", "ASCII letter"),
        ("x.y", "ASCII letter"),
        ("\u03bb", "ASCII letter"),
        ("x y", "ASCII letter"),
        ("'x\"); import os  # '", "ASCII letter"),
        ("class", "keyword"),
        ("lambda", "keyword"),
        ("None", "keyword"),
        ("np", "generated code uses"),
        ("cp", "generated code uses"),
        ("range", "generated code uses"),
        ("ValueError", "generated code uses"),
        ("a" * 61, "longer"),
    ],
)
def test_a_name_that_cannot_be_an_identifier_is_refused(name: str, why: str) -> None:
    line, *_ = summary(f"tensorgen: 1\ninputs:\n  {name}: [n]\nfunctions: {{f: 1}}")
    assert line.startswith("3:") and why in line
    line, *_ = summary(f"tensorgen: 1\nfunctions:\n  {name}: 1")
    assert line.startswith("3:")
    line, *_ = summary(f"tensorgen: 1\ndims:\n  - {name}\nfunctions: {{f: 1}}")
    assert line.startswith(("3:5:", "3:6:")) and why in line


@pytest.mark.parametrize(
    ("shape", "parts"),
    [
        ("n", ["3:6:", "a list of sizes, not 'n'", "[n] for a vector"]),
        ("", ["3:3:", "not nothing"]),
        ("{}", ["3:3:", "has no shape"]),
        ("[n*m]", ["3:7:", "affine"]),
        ("[n**2]", ["3:7:", "this is not a size"]),
        ("[n/2]", ["3:7:", "this is not a size"]),
        ("[2.5]", ["3:7:", "this is not a size"]),
        ("[True]", ["3:7:", "this is not a size"]),
        ("[-3]", ["3:7:", "cannot be negative"]),
        ("[f(n)]", ["3:7:", "this is not a size"]),
        ("['__import__(\"os\")']", ["3:8:", "this is not a size"]),
        ("['n, m']", ["3:8:", "this is not a size"]),
        ("['n if']", ["3:8:", "this is not a size"]),
        ("[n + class]", ["3:7:", "this is not a size"]),
        ("[n + np]", ["3:11:", "cannot be the name of a dim"]),
        ("[[n]]", ["3:7:", "a size is expected, not a list"]),
        ("['']", ["3:8:", "this is not a size"]),
        ("[9999999999999999]", ["3:7:", "too large"]),
        ("[" + "(a+b)*" * 30 + "c]", ["affine"]),
        ("[" + "a+" * 3000 + "a]", ["this is not a size"]),
    ],
)
def test_a_wrong_shape_is_reported(shape: str, parts: list[str]) -> None:
    text = f"tensorgen: 1\ninputs:\n  x: {shape}\nfunctions: {{f: 1}}\n"
    only(text, *parts)


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("{shape: [n], dok: a}", ["3:19:", "did you mean 'doc'?"]),
        ("{shape: scalar, default: abc}", ["3:31:", "must be a number, not 'abc'"]),
        ("{shape: scalar, default: 1e999999999}", ["must be a number"]),
        ("{shape: scalar, default: inf}", ["must be a number"]),
        ("{shape: scalar, default: 1/0}", ["must be a number, not '1/0'"]),
        ("{shape: scalar, default: 1/2/3}", ["must be a number"]),
        ("{shape: scalar, default: 1e300/1e-300}", ["must be a number"]),
        ("{shape: [n], default: 1}", ["3:19:", "only a scalar"]),
        ("{shape: [n, m], spd: true}", ["3:22:", "only a square matrix"]),
        ("{shape: [n], symmetric: true}", ["only a square matrix"]),
        ("{shape: [n, m], symmetric: all}", ["3:33:", "have one size, not (n, m)"]),
        ("{shape: [n], symmetric: all}", ["two or more at a time"]),
        ("{shape: [n, n], symmetric: [0, 2]}", ["3:37:", "from 0 to 1, not '2'"]),
        ("{shape: [n, n], symmetric: [i, j]}", ["from 0 to 1, not 'i'"]),
        ("{shape: [n, n], symmetric: [[0, 1], 1]}", ["from 0 to 1, not a list"]),
        ("{shape: [n, n], symmetric: [0, 0]}", ["in one group only"]),
        ("{shape: [n, n, n], symmetric: [[0, 1], [1, 2]]}", ["in one group only"]),
        ("{shape: [n, n, n], symmetric: [0]}", ["two or more at a time"]),
        ("{shape: [n, n, n], symmetric: []}", ["two or more at a time"]),
        ("{shape: [n, n, n], symmetric: maybe}", ["true or false"]),
        ("{shape: [n, n, n], symmetric: all, spd: true}", ["last two axes alone"]),
        ("{shape: [n], positive: ture}", ["3:19:", "true or false", "'true'"]),
        ("{shape: [n], positive: }", ["true or false, not nothing"]),
        ("{shape: [n], index: n*n}", ["3:26:", "affine"]),
        ("{shape: [n], index: n, positive: yes}", ["index array cannot have"]),
        (
            "{shape: [n], sparse: true}",
            ["3:19:", "only a matrix can be 'sparse'", "(n,)"],
        ),
        ("{shape: [n, m], sparse: tru}", ["3:22:", "true or false", "'true'"]),
        ("{shape: [n, n], sparse: yes, spd: yes}", ["3:35:", "cannot have 'spd'"]),
        ("{shape: [n, m], sparse: yes, index: k}", ["cannot have 'index'"]),
        ("{shape: [n], shape: [m]}", ["3:19:", "the key 'shape' is given twice"]),
    ],
)
def test_a_wrong_input_is_reported(written: str, parts: list[str]) -> None:
    lines = summary(f"tensorgen: 1\ninputs:\n  x: {written}\nfunctions: {{f: 1}}\n")
    assert all(part in lines[0] for part in parts), lines


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("f:", ["4:3: 'f' has no expression"]),
        ("f: {wrt: w}", ["4:3:", "has no 'expr'"]),
        ("f: {expr: , wrt: w}", ["4:3: 'expr' has no expression"]),
        ("f: {expr: {}}", ["4:13: 'expr' must be an expression, not a mapping"]),
        ("f:\n    - w", ["5:5: 'f' must be an expression, not a list", "quoted"]),
        ("f: {expr: 1, wtr: w}", ["4:16:", "did you mean 'wrt'?"]),
        ("f: {expr: 1, wrt: W}", ["4:21: 'W' is not an input", "'w'"]),
        ("f: {expr: 1, wrt: [w, w]}", ["4:25: 'w' occurs twice"]),
        ("f: {expr: 1, wrt: [[w]]}", ["4:22: a name is expected"]),
        ("f: {expr: 1, wrt: {w: 1}}", ["4:25: '1' cannot be stated of 'w' in 'wrt'"]),
        ("f: {expr: 1, wrt: {X: diagnal}}", ["4:25:", "did you mean 'diagonal'?"]),
        ("f: {expr: 1, wrt: {w: symmetric}}", ["'w' is no square matrix"]),
        ("f: {expr: 1, emit: gradient}", ["4:22: 'gradient' needs a 'wrt'"]),
        ("f: {expr: 1, emit: hessian}", ["needs a 'wrt'"]),
        ("f: {expr: 1, emit: 3}", ["needs a 'wrt'"]),
        ("f: {expr: 1, wrt: w, emit: gradeint}", ["'gradient'"]),
        ("f: {expr: 1, wrt: w, emit: [value, w]}", ["list inside the list"]),
        ("f: {expr: 1, wrt: w, emit: 2}", ["from 3 to 9", "'hessian'"]),
        ("f: {expr: 1, wrt: w, emit: -3}", ["from 3 to 9"]),
        ("f: {expr: 1, wrt: w, emit: 99999}", ["from 3 to 9"]),
        (f"f: {{expr: 1, wrt: w, emit: {'9' * 5000}}}", ["from 3 to 9"]),
        (
            "f: {expr: 1, wrt: [w, X, lam], emit: 9}",
            ["4:40:", "there are 55 derivatives", "[w, X, lam, w"],
        ),
        ("f: {expr: 1, wrt: w, emit: [value, value]}", ["4:38:", "occurs twice"]),
        ("f: {expr: 1, wrt: w, emit: [[w, X]]}", ["4:35: 'X' is not in"]),
        ("f: {expr: 1, wrt: w, emit: [[w]]}", ["4:31:", "2 to 9 inputs"]),
        ("f: {expr: 1, wrt: w, emit: {a: 1}}", ["'emit' must be"]),
        ("f: {unknown: [n], root: 1}", ["an unknown", "unknowns:"]),
        ("f(x): x", ["4:3: 'f' cannot have parameters here", "definitions"]),
        ("f[]: 1", ["4:4:", "nothing between the brackets"]),
        ("f[i, i]: 1", ["4:8: 'i' occurs twice"]),
        ("f[i+1]: 1", ["4:5: 'i+1' cannot be the name of an index"]),
        ("f[w]: 1", ["4:5: 'w' is the name of an input and of an index"]),
        ("f[i][j]: 1", ["cannot be the left side"]),
        ("w: 1", ["4:3: 'w' is the name of an input and of a function"]),
        ("m: 1", ["4:3: 'm' is the name of a dim and of a function"]),
        ("f: 1\n  f[i]: 2", ["5:3: 'f' is the name of a function twice"]),
    ],
)
def test_a_wrong_function_is_reported(written: str, parts: list[str]) -> None:
    line, *_ = summary(HEAD + "  " + written + "\n")
    assert all(part in line for part in parts), line


@pytest.mark.parametrize(
    ("block", "parts"),
    [
        ("z", ["6:7: expected 'name = expression'"]),
        ("z == 1", ["6:7: expected 'name = expression'"]),
        ("f(a=1)", ["6:7: expected 'name = expression'"]),
        ("z =", ["6:7: 'z' has no expression"]),
        ("z = 1\n      2 = 1", ["7:7: '2' cannot be the name"]),
        ("z = 1\n      z = 2", ["7:7: 'z' is the name of a local definition twice"]),
        ("w = 1", ["6:7: 'w' is the name of an input and of a local definition"]),
        ("z(t) = 1", ["6:7: 'z' cannot have parameters here"]),
        ("z[t] = 1\n      t = 1", ["'t' is the name of an index and of a local"]),
        ("z[t = 1", ["6:7: expected 'name = expression'"]),
    ],
)
def test_a_wrong_local_definition_is_reported(block: str, parts: list[str]) -> None:
    text = f"{HEAD}  f:\n    where: |\n      {block}\n    expr: 1\n"
    only(text, *parts)


def test_lines_of_where_that_yaml_joins_are_not_read() -> None:
    for start in (">\n      ", "", '"'):
        end = '"' if start == '"' else ""
        text = f"{HEAD}  f:\n    where: {start}z = 1\n      y = 2{end}\n    expr: 1\n"
        only(text, "5:12: YAML joins the lines", "where: |")


def test_a_collision_shows_both_places() -> None:
    (fault,) = faults(
        "tensorgen: 1\ninputs:\n  n: scalar\n  x: [n]\nfunctions: {f: 1}\n"
    )
    drawn = fault.render()
    assert "a.yaml:4:7: error: 'n' is the name of an input and of a dim" in drawn
    assert "    3 |   n: scalar" in drawn and "    4 |   x: [n]" in drawn
    assert "an input, first here" in drawn


@pytest.mark.parametrize("key", ["expr[i, j]", '"expr [i, j]"'])
def test_the_indices_of_a_function_stand_behind_its_name(key: str) -> None:
    told = "the indices of a function follow its name"
    hint = "write 'f[i, j]:', and 'expr:' below it"
    only(f"{HEAD}  f:\n    {key}: w[i]*w[j]\n    wrt: w\n", told, hint)


def test_a_local_name_that_a_function_has_is_to_be_another() -> None:
    text = f"{HEAD}  f:\n    where: g = 1\n    expr: g\n  g: 2\n"
    only(text, "a local definition and of a function", "rename one of them")


@pytest.mark.parametrize(
    ("inputs", "emit", "clash"),
    [
        ("{w: [n], dw: [n]}", "hvp", "dw"),
        ("{dw: [n], w: [n]}", "jvp", "dw"),
        ("{w: [n], ct: [n]}", "vjp", "ct"),
    ],
)
def test_a_direction_must_not_meet_an_input(inputs: str, emit: str, clash: str) -> None:
    text = f"tensorgen: 1\ninputs: {inputs}\nfunctions:\n"
    text += f"  f: {{expr: 1, wrt: w, emit: {emit}}}\n"
    only(text, f"'{emit}' names", f"'{clash}', which is an input", "rename")
    read_spec(Source("a.yaml", text.replace(f"emit: {emit}", "emit: gradient")))


def test_a_function_must_not_meet_what_another_emits() -> None:
    text = HEAD + "  f: {expr: 1, wrt: w, emit: [value, gradient]}\n  {}: 1\n"
    for name in ("f_grad", "f_value_and_grad"):
        only(text.replace("{}", name), f"4:3: the generated name '{name}'", "rename")
    read_spec(Source("a.yaml", text.replace("{}", "f_hess")))
    text = HEAD + "  my_f: {expr: 1, wrt: w, emit: problem}\n"
    only(text + text.splitlines()[-1].replace("my_f", "myF"), "5:3:", "'MyFProblem'")


def test_all_faults_of_a_file_are_reported_at_once_in_order() -> None:
    text = (
        "tensorgen: 3\nmodul: x\ndims: {n: 0}\ninputs: {class: [n], X: n}\n"
        "functions:\n  f: {expr: 1, wrt: Q, emit: [foo]}\n  g:\n"
    )
    places = [line.split(": ")[0] for line in summary(text)]
    assert places == ["1:12", "2:1", "3:11", "4:10", "4:25", "6:21", "6:31", "7:3"]


@pytest.mark.parametrize("name", ["zip", "cp", "len", "class", "Hessian"])
def test_a_module_may_be_called_like_what_code_uses(name: str) -> None:
    text = (
        f"tensorgen: 1\nmodule: {name}\ninputs: {{x: [n]}}\nfunctions:\n"
        "  f: {expr: sum(x**2), wrt: x, emit: [value, hessian]}\n"
    )
    assert tensorgen.load(text).f([1.0, 2.0]) == 5


def test_a_file_name_that_is_no_module_name_is_reported() -> None:
    (fault,) = faults("tensorgen: 1\nfunctions: {f: 1}\n", "2d.yaml")
    assert "'2d', cannot be the name of a module" in fault.message
