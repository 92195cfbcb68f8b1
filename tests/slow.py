"""Which tests take long: `python -m tests.slow LOG`, of a run that has timed them.

    make test DURATIONS=1 > LOG

`tests/slow.txt` lists those that took more than 0.3 seconds by themselves: `make
thorough` runs them, and `make test` does not, so that a person need not wait. The
quickest of each file stays, and golden files do: what they show is what users get.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

SECONDS = 0.3
SLOW = Path(__file__).with_name("slow.txt")
STAY = ("tests/test_golden.py",)
_TIMED = re.compile(r"\s*([\d.]+)s call +(\S.*?)\s*")


def slow(log: str) -> Iterator[str]:
    """Yield the names of tests that have taken long, and are not the only ones."""
    files: dict[str, dict[str, float]] = {}
    for line in log.splitlines():
        if timed := _TIMED.fullmatch(line):
            seconds, test = timed.groups()
            files.setdefault(test.partition("::")[0], {})[test] = float(seconds)
    for file, tests in files.items():
        quickest = min(tests, key=lambda test: (tests[test], test))
        for test, seconds in tests.items():
            if seconds > SECONDS and test != quickest and file not in STAY:
                yield test


if __name__ == "__main__":
    # Those that were slow before have not been run, and timed, again.
    known = {*SLOW.read_text("utf-8").splitlines()}
    known.update(slow(Path(sys.argv[1]).read_text("utf-8", "replace")))
    SLOW.write_text("".join(f"{test}\n" for test in sorted(known)), "utf-8")
