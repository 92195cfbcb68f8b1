"""The same spec gives the same bytes, whatever the order of Python's hash tables."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tensorgen import generate

ROOT = Path(__file__).resolve().parent.parent
SPECS = sorted((ROOT / "examples").glob("*.yaml"))
BACKENDS = ("numpy", "cupy")
SEEDS = ("0", "1", "4242")


def generated(folder: Path, seed: str, *options: str) -> dict[str, bytes]:
    """Generate every example spec in a process of its own; return bytes by file."""
    names = [str(path.relative_to(ROOT)) for path in SPECS]
    backends = [word for backend in BACKENDS for word in ("-b", backend)]
    command = ["gen", *names, "-o", str(folder), *backends, *options]
    subprocess.run(
        [sys.executable, "-m", "tensorgen", *command],
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def by_seed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    return {seed: generated(tmp_path_factory.mktemp(seed), seed) for seed in SEEDS}


def test_every_spec_gives_one_file_a_backend(
    by_seed: dict[str, dict[str, bytes]],
) -> None:
    expected = sorted(f"{path.stem}_{b}.py" for path in SPECS for b in BACKENDS)
    for files in by_seed.values():
        assert sorted(files) == expected


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_three_hash_seeds_give_the_same_bytes(
    by_seed: dict[str, dict[str, bytes]], spec: Path, backend: str
) -> None:
    first, second, third = (
        files[f"{spec.stem}_{backend}.py"] for files in by_seed.values()
    )
    assert first == second == third


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_hash_seeds_do_not_reach_the_other_modes(tmp_path: Path, mode: str) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    assert generated(first, "0", "--mode", mode) == generated(
        second, "4242", "--mode", mode
    )


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_the_python_interface_gives_the_command_lines_bytes(
    by_seed: dict[str, dict[str, bytes]], spec: Path
) -> None:
    # Generating all specs before this one, in one process, leaves no trace either.
    source = generate(spec, backend="numpy").encode()
    assert source == by_seed["0"][f"{spec.stem}_numpy.py"]
