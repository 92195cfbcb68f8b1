"""The same spec gives the same bytes, whatever the order of Python's hash tables."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.sampled import left

ROOT = Path(__file__).resolve().parent.parent
SPECS = sorted((ROOT / "examples").glob("*.yaml"))
# All of them, for both backends, `.ci/run` makes by the command line.
SAMPLE = SPECS[::6]
# Where the modes differ most; the order of hash tables is the same matter in all.
MODES_DIFFER = [
    path
    for path in SPECS
    if path.stem in ("cross_country_chain", "softmax_regression", "tanh_network")
]
SEED = "4242"


def generated(
    folder: Path, seed: str, *options: str, specs: Sequence[Path]
) -> dict[str, bytes]:
    """Generate specs in a process of its own; return bytes by file."""
    names = [os.path.relpath(path, ROOT) for path in specs]
    command = ["gen", "--fast", *names, "-o", str(folder), *options]
    subprocess.run(
        [sys.executable, "-m", "tensorgen", *command],
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    # The order of hash tables is the same matter for all backends: golden files of the
    # other are made with another seed in each run.
    folder = tmp_path_factory.mktemp("files")
    return generated(folder, SEED, "-b", "numpy", specs=SAMPLE)


def test_every_spec_gives_one_file_a_backend(files: dict[str, bytes]) -> None:
    assert sorted(files) == sorted(f"{path.stem}_numpy.py" for path in SAMPLE)


@pytest.mark.parametrize("mode", ["reverse", left("forward")])
def test_hash_seeds_do_not_reach_the_other_modes(tmp_path: Path, mode: str) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    files = [
        generated(folder, seed, "--mode", mode, "-b", "numpy", specs=MODES_DIFFER)
        for folder, seed in ((first, "0"), (second, "4242"))
    ]
    assert len(files[0]) == len(MODES_DIFFER) == 3
    assert files[0] == files[1]


EULER = """
tensorgen: 1
inputs: {c: [T], R: [T], beta: [], gamma: []}
functions:
  residual[t]: beta*(c[t + 1]/c[t])**(-gamma)*R[t + 1] - 1
  gmm: {expr: "mean(residual)**2", wrt: [beta, gamma], emit: [hessian]}
"""


def test_hash_seeds_do_not_reach_sums_that_are_factored(tmp_path: Path) -> None:
    spec = tmp_path / "euler.yaml"
    spec.write_text(EULER, encoding="utf-8")
    files = [
        generated(tmp_path / seed, seed, "-b", "numpy", specs=[spec]) for seed in "014"
    ]
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("spec", SAMPLE, ids=lambda path: path.stem)
def test_the_command_line_gives_the_python_interfaces_bytes(
    files: dict[str, bytes], spec: Path
) -> None:
    # tests/test_golden.py holds the golden files to what the interface gives, with a
    # seed of its own in each run. That all specs before this one went through the same
    # process leaves no trace either.
    name = f"{spec.stem}_numpy.py"
    assert files[name] == (ROOT / "tests" / "golden" / name).read_bytes()
