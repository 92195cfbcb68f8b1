"""The page as files alone, with Python in the browser: `docs/static_play.py`.

`test_browser.py` has the tests of the page, with a server and without.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from docs.static_play import PUBLISHED, build
from tensorgen.play.worker import work
from tests.play.browser import done, opened, runtime_folder, serving_files, until

pytestmark = pytest.mark.browser

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SECONDS = 4
SLOW = "sum(x)" + "".join(f" + norm(A{k} @ x)**{k}" for k in range(100))


@pytest.fixture(scope="module")
def folder(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site") / "play"
    build(made, runtime_folder())
    return made


def status(page: Any, told: str) -> None:
    until(page, f"document.querySelector('#status').textContent.includes('{told}')")


def test_code_is_what_the_compiler_writes_elsewhere(
    chromium: Any, folder: Path
) -> None:
    asked: set[str] = set()
    with serving_files(folder) as address, opened(chromium, "about:blank") as page:
        page.on("request", lambda one: asked.add(urlsplit(one.url).netloc))
        for name in ("logistic_regression", "quadratic_form", "poisson_regression"):
            text = (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")
            page.goto(f"{address}#{urlencode({'spec': text})}")
            shown = f"textContent.includes('{name}_numpy.py')"
            until(page, f"document.querySelector('#numpy').{shown}")
            done(page)
            for module in work("compile", {"spec": text})["modules"]:
                shown = page.locator(f"#{module['backend']} pre").text_content()
                assert shown == module["text"]
        assert page.told == []
        assert asked == {urlsplit(address).netloc}


def test_a_job_ends_when_its_time_is_over_and_the_next_is_answered(
    chromium: Any, folder: Path
) -> None:
    setup = json.loads((folder / "setup.json").read_text(encoding="utf-8"))
    short = json.dumps(setup | {"seconds": SECONDS, "late": "it was too long"})
    with serving_files(folder) as address, opened(chromium, "about:blank") as page:
        page.route("**/setup.json", lambda route: route.fulfill(body=short))
        page.goto(f"{address}#{urlencode({'expression': SLOW})}")
        status(page, "Stopped: it was too long.")
        page.fill("#expression", "sum(exp(x))")
        done(page)
        assert "np.exp(x)" in page.locator("#numpy pre").text_content()
        assert page.told == []


def test_what_nobody_waits_for_ends(chromium: Any, folder: Path) -> None:
    with serving_files(folder) as address, opened(chromium, address) as page:
        done(page)
        page.fill("#expression", SLOW)
        status(page, "Compiling")
        page.wait_for_timeout(1000)
        started: list[str] = []
        page.on("worker", lambda worker: started.append(worker.url))
        page.fill("#expression", "sum(exp(x))")
        done(page)
        assert started == [f"{address}python_worker.js"]
        assert page.told == []


def test_python_is_fetched_from_where_it_is_published(
    chromium: Any, folder: Path, tmp_path: Path
) -> None:
    build(tmp_path / "play")
    runtime = runtime_folder()
    asked = []

    def publish(route: Any) -> None:
        name = route.request.url.removeprefix(PUBLISHED)
        asked.append(name)
        headers = {"Access-Control-Allow-Origin": "*"}
        route.fulfill(path=runtime / name, headers=headers)

    with serving_files(tmp_path / "play") as address:
        with opened(chromium, address) as page:
            status(page, "Python has not started")
        with opened(chromium, "about:blank") as page:
            page.context.route(f"{PUBLISHED}**", publish)
            page.goto(address)
            done(page)
            assert page.told == []
    assert {"pyodide.mjs", "pyodide.asm.wasm", "pyodide-lock.json"} <= {*asked}


def test_a_page_from_a_folder_says_what_it_needs(chromium: Any, folder: Path) -> None:
    with opened(chromium, (folder / "index.html").as_uri()) as page:
        status(page, "Python has not started: its folder must be served")
