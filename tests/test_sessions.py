"""The sessions that documents show print what they show."""

from pathlib import Path

import pytest

from tests.sampled import sampled
from tests.sessions import PAGES, printed, same


def test_there_are_pages_with_sessions() -> None:
    assert "tutorial.md" in {path.name for path in PAGES}


@pytest.mark.parametrize("path", sampled(PAGES, len(PAGES)), ids=lambda path: path.stem)
def test_commands_print_what_a_page_shows(path: Path) -> None:
    for block, wanted in printed(path):
        assert same(block.text, wanted), f"python -m tests.sessions\n{wanted}"


def test_figures_are_compared_and_rounding_errors_are_not() -> None:
    assert same("a 1.25 2.2e-16", "a 1.25 0.0e+00")
    assert not same("a 1.25 2.2e-16", "a 1.26 2.2e-16")
    assert not same("a 1.2e-03", "a 1.3e-03")
