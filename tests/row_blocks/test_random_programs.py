"""Random programs in blocks of rows are what they are of all rows at once."""

from __future__ import annotations

import pytest

from tests.programs.rows import faults
from tests.random_programs import program

SEEDS = "0:4"  # `.ci/run` goes on to 12


def test_pieces_of_random_programs_compute_what_the_whole_does(seeds: range) -> None:
    found = {seed: program(seed) for seed in seeds}
    failing = {seed: wrong for seed in seeds if (wrong := faults(found[seed]))}
    for seed, wrong in failing.items():
        told = "\n".join([f"seed {seed}:", found[seed].text, *wrong])
        pytest.fail(f"seeds {[*failing]} fail\n{told}", pytrace=False)
