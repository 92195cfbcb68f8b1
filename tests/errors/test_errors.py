"""Places in texts, and how diagnostics are drawn."""

import pickle

import pytest

from tensorgen.errors import (
    Diagnostic,
    Faults,
    Source,
    Span,
    SpecError,
    Text,
    fail,
    suggest,
)

SPEC = """tensorgen: 1
functions:
  loss:
    expr: sum(X @ w + b)
"""


def place(source: Source, part: str, occurrence: int = 0) -> Span:
    start = -1
    for _ in range(occurrence + 1):
        start = source.text.index(part, start + 1)
    return Span(source, start, start + len(part))


def test_a_diagnostic_is_drawn_as_the_contract_shows_it() -> None:
    source = Source("logreg.yaml", "\n" * 11 + "    expr: sum(X @ w + b)\n")
    drawn = Diagnostic(
        "shapes do not match in '+'",
        place(source, "+"),
        ((place(source, "X @ w"), "(m,)"), (place(source, "b"), "(n,)")),
        "b has shape (n,); did you mean X @ (w + b)?",
    ).render()
    assert drawn == (
        "logreg.yaml:12:21: error: shapes do not match in '+'\n"
        "   12 |     expr: sum(X @ w + b)\n"
        "      |               ~~~~~ ^ ~\n"
        "      |               (m,)    (n,)\n"
        "   hint: b has shape (n,); did you mean X @ (w + b)?"
    )


def test_without_marks_the_rest_of_the_span_is_underlined() -> None:
    source = Source("a.yaml", SPEC)
    lines = Diagnostic("no", place(source, "sum(X")).render().splitlines()
    assert lines[1:] == [
        "    4 |     expr: sum(X @ w + b)",
        "      |           ^~~~~",
    ]


def test_a_fault_without_a_place_is_one_line() -> None:
    assert Diagnostic("no", None).render() == "error: no"


def test_a_place_at_the_very_end_of_a_file_is_drawn() -> None:
    source = Source("a.yaml", "ab")
    drawn = Diagnostic("more", Span(source, 2, 2)).render()
    assert drawn.splitlines() == [
        "a.yaml:1:3: error: more",
        "    1 | ab",
        "      |   ^",
    ]


def test_a_span_over_several_lines_is_underlined_on_its_first() -> None:
    source = Source("a.yaml", "abc\ndef")
    drawn = Diagnostic("no", Span(source, 1, 6)).render()
    assert drawn.splitlines()[1:] == ["    1 | abc", "      |  ^~"]


def test_labels_without_room_go_to_a_further_row() -> None:
    source = Source("a.yaml", "a + b")
    marks = ((place(source, "a"), "(rows, columns)"), (place(source, "b"), "(n,)"))
    lines = Diagnostic("no", place(source, "+"), marks).render().splitlines()
    assert lines[2:] == [
        "      | ~ ^ ~",
        "      | (rows, columns)",
        "      |     (n,)",
    ]


def test_a_mark_on_another_line_shows_that_line() -> None:
    source = Source("a.yaml", "x: 1\ny: 2\nx: 3")
    main = place(source, "x", 1)
    marks = ((place(source, "x"), "first here"),)
    assert Diagnostic("twice", main, marks).render().splitlines()[1:] == [
        "    3 | x: 3",
        "      | ^",
        "    1 | x: 1",
        "      | ~",
        "      | first here",
    ]


def test_a_mark_in_another_file_names_the_file() -> None:
    here, there = Source("a.yaml", "f(x)"), Source("prelude", "\nf(t) = t")
    marks = ((place(there, "f(t)"), "defined here"),)
    lines = Diagnostic("no", place(here, "f"), marks).render().splitlines()
    assert lines[3:5] == ["   prelude:2:", "    2 | f(t) = t"]


def test_control_characters_of_a_spec_never_reach_the_terminal() -> None:
    source = Source("a.yaml", "a\x1b[31m\tb")
    drawn = Diagnostic("bad \x1b name", Span(source, 7, 8)).render()
    assert "\x1b" not in drawn and "\t" not in drawn
    assert drawn.splitlines()[2] == "      |        ^"


def test_a_wide_character_takes_two_columns() -> None:
    source = Source("a.yaml", "数 + b")
    drawn = Diagnostic("no", place(source, "b")).render()
    assert drawn.splitlines()[2] == "      |      ^"


def test_of_a_very_long_line_the_part_around_the_fault_is_shown() -> None:
    source = Source("a.yaml", "a" * 5000 + "!" + "b" * 5000)
    lines = Diagnostic("no", place(source, "!")).render().splitlines()
    assert lines[0].startswith("a.yaml:1:5001:")
    assert len(lines[1]) < 200
    assert lines[1][lines[2].index("^")] == "!"


def test_colour_comes_only_when_asked() -> None:
    source = Source("a.yaml", SPEC)
    fault = Diagnostic("no", place(source, "sum"), hint="try")
    assert "\x1b" not in fault.render()
    colored = fault.render(color=True)
    assert "\x1b[1;31merror:\x1b[0m" in colored


def test_lines_and_columns_count_from_one() -> None:
    source = Source("a.yaml", "ab\ncd\n")
    assert [(s.line, s.column) for s in (Span(source, i, i) for i in range(7))] == [
        (1, 1),
        (1, 2),
        (1, 3),
        (2, 1),
        (2, 2),
        (2, 3),
        (3, 1),
    ]


def test_a_slice_of_a_text_keeps_its_places() -> None:
    text = Text("ab cd", Source("a", "__ab   cd__"), (2, 3, 4, 7, 8, 9))
    part = text.slice(3, 5)
    assert (part.value, part.positions) == ("cd", (7, 8, 9))
    assert part.span() == text.span(3, 5) == Span(text.source, 7, 9)
    assert text.span(5, 5) == Span(text.source, 9, 9)
    assert text.span(1, 3) == Span(text.source, 3, 5)
    assert text.slice(2, 5).strip() == part
    assert text.slice(2, 3).strip().value == ""


def test_a_text_with_too_few_positions_is_refused() -> None:
    with pytest.raises(ValueError, match="one position a character"):
        Text("ab", Source("a", "ab"), (0, 1))


def test_faults_are_raised_together_in_the_order_of_their_places() -> None:
    source = Source("a.yaml", SPEC)
    faults = Faults()
    faults.raise_if_any()
    assert not faults
    faults.add("later", place(source, "expr"))
    faults.add("nowhere", None)
    faults.add("earlier", place(source, "tensorgen"))
    faults.add("later", place(source, "expr"))
    with pytest.raises(SpecError) as caught:
        faults.raise_if_any()
    messages = [d.message for d in caught.value.diagnostics]
    assert messages == ["earlier", "later", "nowhere"]
    assert str(caught.value).count("error:") == 3


def test_faults_of_a_caught_error_are_taken_over() -> None:
    faults = Faults()
    with pytest.raises(SpecError) as caught:
        fail("no", Text.plain("x").span(), hint="yes")
    faults.extend(caught.value.diagnostics)
    assert faults and faults.diagnostics == caught.value.diagnostics


def test_a_spec_error_survives_pickling() -> None:
    error = SpecError(Diagnostic("no", Text.plain("x").span()))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    ("name", "candidates", "hint"),
    [
        ("gradeint", ["value", "gradient"], "did you mean 'gradient'?"),
        ("x", ["X", "y"], "did you mean 'X'?"),
        ("qqq", ["value", "gradient"], None),
        ("a", [], None),
    ],
)
def test_a_near_miss_is_suggested(
    name: str, candidates: list[str], hint: str | None
) -> None:
    assert suggest(name, candidates) == hint


def test_line_ends_of_a_file_are_unified() -> None:
    assert Source.decode("a", b"a\r\nb\rc\n").text == "a\nb\nc\n"


@pytest.mark.parametrize(
    ("data", "where", "hint"),
    [
        (b"a\nb\xff", "x.yaml:2:2:", "UTF-8"),
        ("tensorgen: 1".encode("utf-16"), "x.yaml:1:1:", "UTF-16"),
        (b"\x80", "x.yaml:1:1:", "UTF-8"),
    ],
)
def test_a_file_that_is_no_text_is_reported_with_the_place(
    data: bytes, where: str, hint: str
) -> None:
    with pytest.raises(SpecError) as caught:
        Source.decode("x.yaml", data)
    assert str(caught.value).startswith(where)
    assert hint in str(caught.value)
