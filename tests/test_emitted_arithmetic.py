"""What a reader of emitted code would write shorter: nothing is taken twice, terms that
are alike are one, and a line that functions share stands in each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import pytest

from tensorgen.errors import Source
from tensorgen.pipeline import compile_spec
from tests import goldens
from tests.like_terms import like_terms
from tests.programs.structured import structured_program
from tests.random_programs import program
from tests.taken_twice import taken_twice

EXAMPLES = goldens.FOLDER.parents[1] / "examples"
SPECS = {path.stem: path for path in sorted(EXAMPLES.glob("*.yaml"))}
GALLERY = {path.stem: path for path in sorted((EXAMPLES / "gallery").glob("*.yaml"))}
FEW, MANY = 6, 80
"""Random programs that are read each time, and where there is time."""
SEVERAL = {
    ("arthritis", "np.broadcast_to"): "each copy is changed by itself",
    ("cart_pole", "np.broadcast_to"): "each copy is changed by itself",
    ("options", "1 / vol_sqrt_time"): "one over a number",
    ("options", "implied ** 2"): "the square of a number",
    ("optimal_control", "1 + 0.5 * h_friction"): "a number that has no word",
}
"""What stands twice and is left there, and why."""
PARTS = ("_places", "_values")
"""Methods that state entries part by part, each part by itself."""


def emitted(text: str) -> str:
    """The module of a spec, without what all modules share."""
    source = Source("spec.yaml", text)
    files = compile_spec(source, ["numpy"], "cross-country", False, support="shared")
    return next(x for name, x in files.items() if "support" not in name)


def faults(name: str, text: str) -> Iterator[str]:
    """What is longer than it has to be in a module."""
    for function, found in taken_twice(text):
        known = any(name == of and part in found for of, part in SEVERAL)
        if function not in PARTS and not known:
            yield f"{function} takes twice: {found}"
    for function, found in like_terms(text):
        yield f"{function} has like terms: {found}"
    yield from (f"{function} is one line" for function in brief(text))


def brief(text: str) -> Iterator[str]:
    """Private functions of what others share that compute one expression."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and "_parts" in node.name:
            match node.body[1:]:  # behind what it says it does
                case [ast.Return(value=value)] if not isinstance(value, ast.Tuple):
                    yield node.name


@pytest.mark.parametrize("name", SPECS)
def test_examples_are_no_longer_than_they_have_to_be(name: str) -> None:
    assert not [*faults(name, emitted(SPECS[name].read_text(encoding="utf-8")))]


@pytest.mark.thorough
@pytest.mark.parametrize("name", GALLERY)
def test_the_gallery_is_no_longer_than_it_has_to_be(name: str) -> None:
    assert not [*faults(name, emitted(GALLERY[name].read_text(encoding="utf-8")))]


LEFT = {
    (program, 74): "an inner sum is opened where it is written, behind all passes",
    (structured_program, 90): "an inner sum is one of entries, taken after sums merge",
}
"""Programs that have like terms, and why."""


def _in_random_programs(seeds: range) -> list[tuple[str, str]]:
    texts = (
        make(seed).text
        for seed in seeds
        for make in (program, structured_program)
        if (make, seed) not in LEFT
    )
    return [found for text in texts for found in like_terms(emitted(text))]


@pytest.mark.thorough
@pytest.mark.parametrize(("make", "seed"), [*LEFT])
def test_programs_on_record_have_like_terms(make: Any, seed: int) -> None:
    assert [*like_terms(emitted(make(seed).text))]


def test_random_programs_have_no_like_terms() -> None:
    assert not _in_random_programs(range(FEW))


@pytest.mark.thorough
def test_many_random_programs_have_no_like_terms() -> None:
    assert not _in_random_programs(range(MANY // 2))


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("return np.exp(x[1:]) + np.log(np.exp(x[1:]))", "takes twice"),
        ("d = x - y\n    return x + d - 3 * y", "like terms"),
        ("d = x - y\n    return np.exp(d) + d", ""),
        ("return x[1:] * y + x[1:]", ""),
        ("return 2 * x[1:] * y + 2 * x[1:]", ""),
        ("z = np.zeros(n)\n    w = np.zeros(n)\n    return z, w", ""),
    ],
)
def test_what_is_longer_is_seen(body: str, fault: str) -> None:
    text = f'def f(x, y, n: int):\n    """Text."""\n    {body}\n'
    found = [*faults("", text)]
    assert len(found) == bool(fault) and all(fault in x for x in found)
