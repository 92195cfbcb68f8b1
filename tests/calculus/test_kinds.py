"""The table of kinds is the one place that tells kinds apart by their names."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tensorgen.calculus import kinds
from tensorgen.calculus.kinds import GRADIENT, KINDS, VALUE, all_emitted
from tensorgen.lang.derivatives import SPOKEN

PACKAGE = Path(kinds.__file__).parent.parent


def matched(source: str) -> Iterator[str]:
    """Yield the names of kinds that code compares with, or has as keys."""
    for node in ast.walk(ast.parse(source)):
        places: list[ast.expr | None] = []
        match node:
            case ast.Compare():
                for value in (node.left, *node.comparators):
                    places += value.elts if isinstance(value, ast.Tuple) else [value]
            case ast.MatchValue():
                places = [node.value]
            case ast.Dict():
                places = list(node.keys)
        for place in places:
            if isinstance(place, ast.Constant) and place.value in KINDS:
                yield str(place.value)


def test_comparisons_matches_and_keys_are_found() -> None:
    source = "match k:\n case 'hessian': a = k in ('hvp', 'x')\nb = {'gradient': 1}"
    assert sorted(matched(source)) == ["gradient", "hessian", "hvp"]


def test_no_code_tells_kinds_apart_by_name() -> None:
    # The language has functions of these names, and "order" is an argument of norms.
    spoken = {"order", "value", *SPOKEN}
    found = {
        path.name: names
        for path in sorted(PACKAGE.rglob("*.py"))
        # What verifies and times modules owes the tables nothing: it has each by hand.
        if path.parent.name not in ("verify", "bench")
        and (names := {*matched(path.read_text())} - spoken)
    }
    # What a template asks of a class, keys of spec files, and a word that is written.
    keys = {key: {"problem"} for key in ("schema.py", "answers.py", "completion.py")}
    others = {"render.py": {"hessian"}, "write_spec.py": {"gradient"}}
    assert found == keys | others


def test_what_is_emitted_together_follows_from_what_is_asked_for() -> None:
    names = [kind.name for kind in all_emitted([GRADIENT, VALUE])]
    assert names == ["value", "gradient", "value_and_gradient"]
