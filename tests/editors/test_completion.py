"""What may stand at a place: names that are seen there, keys, and words."""

from __future__ import annotations

import pytest

from tensorgen.editor.completion import Proposal, language, proposals
from tensorgen.operators.functions import FUNCTIONS
from tensorgen.operators.matrices.subspaces import SUBSPACES
from tests.editors.specs import SPEC, at

OF_LANGUAGE = {one.word for one in language()}
OF_FILE = {"x", "X", "row", "a", "y", "double", "both", "f", "g", "m", "n", "e"}


UNKNOWN = SPEC.replace("equation: y**3 + y - x}", "equation: y, start: [1, n]}")


def found(marked: str) -> dict[str, Proposal]:
    source, offset = at(marked)
    return {one.word: one for one in proposals(source, offset).words}


def typed(old: str, new: str, text: str = SPEC) -> str:
    """A spec in which something else is written in one place."""
    assert text.count(old) == 1, old
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("marked", "own"),
    [
        (typed("x[i] + d", "|>x[i] + d"), OF_FILE - {"f"} | {"i", "d", "s", "total"}),
        (typed("x[i] + double(a", "|>"), OF_FILE - {"f"} | {"i", "d", "s", "total"}),
        (typed("x[k + 1] - x[k]", "x[|> - 3"), OF_FILE - {"f"} | {"i", "k", "s"}),
        (typed("= sum(d[k]", "= sum(|>d[k]"), OF_FILE - {"f"} | {"i", "d", "s"}),
        (typed("2 * t + u", "2 * |>"), OF_FILE | {"t", "u"}),
        (typed("y**3 + y - x", "3 + |>"), OF_FILE - {"y"}),
        (
            typed(
                "n]}\n",
                "n]}\n  z: {shape: [n], of: {v: [n]}, fixed_point: |>\n",
                UNKNOWN,
            ),
            OF_FILE | {"v"},
        ),
        (typed("upper: a", "upper: |>"), OF_FILE),
        (SPEC + "external: {h: {call: a.b, args: [v], derivative: |>", OF_FILE | {"v"}),
    ],
)
def test_in_expressions_names_that_are_seen_and_the_language(
    marked: str, own: set[str]
) -> None:
    assert {*found(marked)} == own | OF_LANGUAGE


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        (typed("wrt: x", "wrt: |>"), {"x", "X", "a"}),
        (SPEC.rstrip() + "\n  sensitivity: |>\n", {"x", "X", "a"}),
        (typed("wrt: x", "wrt: [x, |>"), {"x", "X", "a"}),
        (typed("[x, x]", "[x, |>]"), {"x"}),
        (typed("wrt: x", "wrt: {x: |>}"), {*SUBSPACES}),
        (typed("[m, n]", "[m, |>"), {"m", "n", "e"}),
        (typed("index: n", "index: |>"), {"m", "n", "e"}),
        (typed("shape: [e]", "shape: [|>]"), {"m", "n"}),
        (typed("minimize: g", "minimize: |>"), {"both", "f", "g"}),
        (SPEC + "  constraints: {|>", {"both", "f", "g"}),
        (typed("variables: {x:", "variables: {x:, |>"), {"x", "X", "a"}),
        (typed("both.loss", "both.|>"), {"loss", "pred"}),
        (typed("both.loss", "both.lo|>"), {"loss", "pred"}),
        (typed("X @ x", "X.|> @ x"), {"T"}),
        (SPEC + "backends: [|>", {"numpy", "cupy"}),
        (SPEC + "support: |>", {"inline", "shared"}),
        (SPEC + "blocks: |>", {"m", "n", "e"}),
        (typed("{shape: [e],", "{batch: [|>], shape: [e],"), {"m", "n", "e"}),
        (typed("{shape: [e],", "{batch: |>, shape: [e],"), {"m", "n", "e"}),
        (SPEC + "blocks: {m: {}, functions: [|>", {"both", "f", "g"}),
        (typed("positive: true", "positive: |>"), {"true", "false"}),
        (
            typed(
                "x: {shape: [n], positive: true, |>doc".replace("|>", ""),
                "x: {shape: [n], sp|>, doc",
            ),
            {"default", "index", "sparse", "batch", "symmetric", "spd"}
            | {"positive", "nonnegative"},
        ),
        (typed("    wrt: x\n", "    w|>\n"), {"doc", "checkpoint", "metric", "wrt"}),
        (typed("    wrt: x\n", "    |>\n"), {"doc", "checkpoint", "metric", "wrt"}),
        (
            SPEC + "de|>",
            {"module", "doc", "external", "blocks", "backends", "support"},
        ),
        (typed("[m, n]", "[m, n]  # m|>"), set()),
        (typed("s[0] = a", "s[0] = a  # m|>"), set()),
        (typed("doc: the unknowns", "doc: the |>"), set()),
        (typed("  X: [m, n]", "  |>: [m, n]"), set()),
        ("tensorgen: 1\ninputs: {x: [\nfunctions: {f: |>", set()),
    ],
)
def test_elsewhere_what_a_key_takes(marked: str, words: set[str]) -> None:
    assert {*found(marked)} == words


def test_kinds_to_emit() -> None:
    words = {*found(typed("jacobian", "|>"))}
    assert {"value", "gradient", "hvp", "jvp", "problem", "dense_hessian"} <= words
    assert not words & OF_FILE and "value_and_grad" not in words


def test_below_a_function_its_expression_or_its_keys() -> None:
    words = found(SPEC.replace("problem:", "  h:\n    |>\nproblem:"))
    assert {"expr", "where", "wrt", "x", "sum"} <= {*words}
    assert words["wrt"].told == "Inputs to differentiate by."
    assert words["x"].told.startswith("**x**: shape (n,), nonnegative, positive")


def test_what_is_said_of_names() -> None:
    words = found(typed("x[i] + double", "|>x[i] + double"))
    assert words["double"].detail == "double(t, u) = 2 * t + u"
    assert words["d"].detail == "d[k] = x[k + 1] - x[k]"
    assert words["g"].detail.startswith("= sum(f**2) + both.loss")
    assert words["sum"].detail == str(FUNCTIONS["sum"])
    assert words["grad"].detail == "grad(f, x)"
    assert words["gelu"].detail.startswith("gelu(x) = x * ")
    assert words["pi"].sort == "constant"


def test_a_definition_of_the_file_hides_one_of_the_language() -> None:
    text = SPEC.replace("double(t, u) = 2 * t + u", "huber(t, u) = t + u")
    words = found(typed("x[i] + double(a, total)", "hu|>", text))
    assert words["huber"].detail == "huber(t, u) = t + u"


def test_a_word_is_replaced_from_where_it_starts() -> None:
    source, offset = at(typed("x[i] + double(a, total)", "3*tot|>al"))
    assert source.text[proposals(source, offset).start : offset] == "tot"
