"""A hundred wrong specs, each with what is said of it: all that people do by habit.

The texts stand in `wrong_specs.txt`; `python -m tests.errors.test_wrong_specs` writes
anew what is said, for somebody to read the difference.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorgen.errors import Source, SpecError
from tensorgen.pipeline import compile_spec

FILE = Path(__file__).with_name("wrong_specs.txt")
CASE, SAID = "=== ", "---\n"


def cases() -> Iterator[tuple[str, str, str]]:
    """Name, spec and what is said."""
    for part in FILE.read_text("utf-8").split(CASE)[1:]:
        name, _, rest = part.partition("\n")
        spec, _, said = rest.rpartition("\n" + SAID)
        yield name, spec + "\n", said


def told(spec: str) -> str:
    """What is said of a spec."""
    with pytest.raises(SpecError) as caught:
        compile_spec(Source("spec.yaml", spec), ["numpy"], "cross-country", False)
    return f"{caught.value}\n"


CASES = [*cases()]


@pytest.mark.parametrize(
    ("spec", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_is_said(spec: str, said: str) -> None:
    assert told(spec) == said


def test_there_are_enough_of_them_and_most_have_hints() -> None:
    assert len(CASES) >= 100
    assert len({name for name, _, _ in CASES}) == len(CASES)
    assert sum("hint:" in said for _, _, said in CASES) > 75


def main() -> None:
    """Write what is said anew."""
    parts = [f"{CASE}{name}\n{spec}{SAID}{told(spec)}" for name, spec, _ in CASES]
    FILE.write_text("".join(parts), "utf-8")


if __name__ == "__main__":
    main()
