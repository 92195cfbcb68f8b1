"""How much a browser fetches of the page without a server, and how long that takes.

    PYODIDE=... python -m tests.play.first_answer

The network is this machine's own: what takes time is the start of Python.
"""

from __future__ import annotations

import gzip
import tempfile
import time
from pathlib import Path

from docs.static_play import build, named_runtime
from tests.play.browser import browser, done, opened, serving_files

TIMES = 3


def main() -> None:
    """Print both."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "play"
        build(folder, named_runtime())
        files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
        whole = sum(map(len, files)) / 1e6
        small = sum(len(gzip.compress(file)) for file in files) / 1e6
        print(f"{whole:.1f} MB, compressed {small:.1f} MB")
        with serving_files(folder) as address, browser() as chromium:
            for _ in range(TIMES):
                start = time.perf_counter()
                with opened(chromium, address) as page:
                    done(page)
                    print(f"{time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
