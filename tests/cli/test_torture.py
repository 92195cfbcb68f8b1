"""A slice of `make torture`: writing files while everything goes wrong."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_files_are_whole_whatever_happens() -> None:
    # In a process that has no threads yet, for it forks.
    done = subprocess.run(
        [sys.executable, "-m", "tests.torture", "--rounds", "10", "--stride", "29"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 9
