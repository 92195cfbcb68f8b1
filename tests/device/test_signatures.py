"""The table of what CuPy takes says what the CuPy that is installed takes."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests.device.cupy_signatures import TABLE

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_table_is_what_the_package_takes() -> None:
    # The package is optional, and the table is what stands for it elsewhere.
    if importlib.util.find_spec("cupy") is None:
        pytest.skip("CuPy is not installed")
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    # The packages of CuPy are called after what they were built for.
    names = metadata.packages_distributions()["cupy"]
    version = metadata.version(names[0])
    versions = table.pop("version")
    # Other versions may take other arguments, which are no fault of the table.
    if version not in versions:
        pytest.skip(f"the table is of {versions}, and not of {version}")
    own = versions.index(version)
    known = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-m", "tests.device.cupy_signatures"]
    done = subprocess.run(command, env=known, check=True, capture_output=True)
    found = json.loads(done.stdout.decode().splitlines()[-1])
    wanted = {name: row[own if len(row) > 1 else 0] for name, row in table.items()}
    wanted = {name: text for name, text in wanted.items() if text is not None}
    assert found == wanted | {"version": version}
