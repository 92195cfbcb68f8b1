"""Which tests take long: `python -m tests.slow`, after a run that has timed them.

`tests/slow.txt` lists those that took more than a second and a half by themselves when
`PYTEST_PLUGINS=tests.reach` was last asked (see `tests/reach.py`): `make thorough` runs
them, and `make test` does not. Golden files stay: what they show is what users get.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tests.blocks import REACHED

SECONDS = 1.5
SLOW = Path(__file__).with_name("slow.txt")
STAY = ("tests/test_golden.py",)


def slow() -> Iterator[str]:
    """Yield the names of tests that have taken long."""
    for file in REACHED.glob("*.jsonl"):
        _, *lines = file.read_text("utf-8").splitlines()
        for line in lines:
            test, seconds, _ = json.loads(line)
            if seconds > SECONDS and not test.startswith(STAY):
                yield test


if __name__ == "__main__":
    SLOW.write_text("".join(f"{test}\n" for test in sorted(slow())), "utf-8")
