"""Where the characters of a scalar stand, for every style that YAML has."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorgen.errors import Source, Text
from tensorgen.spec.positions import locate


def scalar(raw: str) -> Text:
    """Return the value of the key `k` with its positions."""
    source = Source("a.yaml", raw)
    events = yaml.parse(raw, Loader=yaml.SafeLoader)
    key, event = (e for e in events if isinstance(e, yaml.ScalarEvent))
    assert key.value == "k"
    start, end = event.start_mark.index, event.end_mark.index  # type: ignore[union-attr]
    return locate(event.value, source, start, end, event.style or "")


@pytest.mark.parametrize(
    "raw",
    [
        "k: abc + d",
        "k: abc +\n    d\n\n    + e",
        "k: 'abc + d'",
        "k: 'it''s a'",
        "k: 'ab\n\n  cd'",
        'k: "abc + d"',
        'k: "ab \\\n    cd\\x41e\\"f\\tg\\u0042h"',
        'k: "a  \\n  b"',
        "k: |\n  abc\n    def\n\n  ghi\n",
        "k: |-  # header\n    abc\n    def",
        "k: |2\n    abc\n   def\n",
        "k: >\n  abc\n  def\n\n  ghi\n   jkl\n",
        "k: |\n  a \n   \n  b\n",
        "\ufeffk: |\n  abc\n",
        "k: >-\n\n  abc\n",
    ],
)
def test_each_letter_is_found_where_it_stands(raw: str) -> None:
    text = scalar(raw)
    assert text.value.strip()
    assert list(text.positions) == sorted(text.positions)
    for char, at in zip(text.value, text.positions, strict=False):
        if char.isspace():
            continue
        assert raw[at] == char or raw[at] == "\\", (char, at)


def test_an_escape_is_found_at_its_backslash() -> None:
    raw = 'k: "a\\x41b"'
    assert scalar(raw).positions == (4, 5, 9, 10)


def test_a_doubled_quote_counts_once() -> None:
    raw = "k: 'a''b'"
    assert scalar(raw).positions == (4, 5, 7, 8)


def test_a_break_stands_behind_the_blanks_before_it() -> None:
    raw = "k: a \n  b"
    text = scalar(raw)
    assert text.value == "a b"
    assert raw[text.positions[2]] == "b"


@settings(max_examples=200)
@given(
    st.text(alphabet="ab+*()[] ,:#'\"\\\n\t-\u00e9\u6570", min_size=1),
    st.sampled_from(["'", '"', "|", ">", None]),
    st.integers(min_value=8, max_value=40),
)
def test_whatever_yaml_writes_is_found_again(
    value: str, style: str | None, width: int
) -> None:
    raw = yaml.safe_dump({"k": value}, default_style=style, width=width)
    text = scalar(raw)
    assert text.value == value
    assert len(text.positions) == len(value) + 1
    assert all(0 <= at <= len(raw) for at in text.positions)
    for char, at in zip(value, text.positions, strict=False):
        assert char.isspace() or raw[at] in (char, "\\")
