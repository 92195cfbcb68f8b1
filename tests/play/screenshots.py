"""The pictures of pages in docs: `make screenshots`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.play.browser import browser, opened, serving

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
LARGEST = 150_000
EXPRESSION = "w @ w / 2 + c * sum(log(1 + exp(-y * (X @ w))))"
SHOTS = {
    "play": ("desktop", "light", {"expression": EXPRESSION}),
    "play-code": ("desktop", "dark", {"expression": EXPRESSION, "view": "numpy"}),
    "play-phone": ("phone", "light", {"expression": "norm(A @ x - y)**2"}),
    "play-fault": ("phone", "light", {"expression": "norm(A @ x + log(y"}),
}


def main() -> None:
    """Take all of them."""
    with browser() as chromium:
        with serving() as address:
            for name, (size, scheme, state) in SHOTS.items():
                at = f"{address}#{urlencode(state)}"
                with opened(chromium, at, size, scheme) as page:
                    faulty = name == "play-fault"
                    done = "#diagnostics .error" if faulty else "#told:not(.stale) h2"
                    page.wait_for_selector(done, state="attached")
                    page.wait_for_selector("#variables fieldset")
                    kept(page, name)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.html"
            spec = ROOT / "examples" / "logistic_regression.yaml"
            command = [sys.executable, "-m", "tensorgen", "explain", str(spec)]
            subprocess.run(
                [*command, "loss_hess", "--html", str(path), "-q"], check=True
            )
            for size in ("desktop", "phone"):
                with opened(chromium, path.as_uri(), size) as page:
                    page.locator("pre span[class^=p]").first.hover()
                    kept(page, "explain" if size == "desktop" else f"explain-{size}")


def kept(page: Any, name: str) -> None:
    """Write what is seen of a page."""
    path = PICTURES / f"{name}.png"
    page.screenshot(path=str(path))
    size = path.stat().st_size
    print(f"{path.relative_to(ROOT)}: {size:,} bytes")
    if size > LARGEST:
        raise SystemExit(f"more than {LARGEST:,} bytes")


if __name__ == "__main__":
    main()
