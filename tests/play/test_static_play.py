"""The page as files: all that it asks for is there, and answered as by a server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from docs import static_play
from docs.static_play import COMPILED, LOADED, LOCK, RuntimeFolderError, build
from tensorgen.play.gallery import gallery
from tensorgen.play.guard import POLICY
from tensorgen.play.http_server import application
from tensorgen.play.in_browser import answer
from tensorgen.play.page_files import FILES, page_file
from tensorgen.play.processes import Workers
from tensorgen.play.requests import JOBS, Budget

HERE = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site") / "play"
    build(made)
    return made


@pytest.fixture(scope="module")
def server() -> TestClient:
    return TestClient(application("a", Workers(Budget())), base_url=HERE)


def test_all_that_the_page_asks_for_is_in_its_folder(folder: Path) -> None:
    text = (folder / "index.html").read_text(encoding="utf-8")
    asked = set(re.findall(r'(?:src|href)="([^"]*)"', text)) - {"data:,"}
    for script in ("page.js", "answers.js"):
        code = (folder / script).read_text(encoding="utf-8")
        asked |= set(re.findall(r'(?:fetch|new Worker)\("([^"]*)"', code))
    assert {"examples.json", "setup.json", "python_worker.js"} <= asked
    setup = json.loads((folder / "setup.json").read_text(encoding="utf-8"))
    assert asked | {setup["archive"], "index.html"} == {
        x.name for x in folder.iterdir()
    }
    assert setup["runtime"] == static_play.PUBLISHED
    examples = json.loads((folder / "examples.json").read_text(encoding="utf-8"))
    assert examples == gallery()


def test_the_page_is_the_one_that_the_server_has(folder: Path) -> None:
    for name, own in FILES.items():
        text = (folder / (name or "index.html")).read_text(encoding="utf-8")
        if name == "":
            policy, text = re.findall(r' content="(default-src.*?)"', text), re.sub(
                "<meta http-equiv=.*\n", "", text
            )
            (told,) = policy
            assert told == POLICY.removesuffix("; frame-ancestors 'none'")
        if name != "answers.js":
            assert text == page_file(own)


def test_scripts_of_a_page_share_no_names() -> None:
    top = re.compile(r"^(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)
    page = top.findall(page_file("page.js"))
    for answers in ("answers_of_server.js", "answers_here.js"):
        assert top.findall(page_file(answers)) == ["answered"]
    assert "answered" not in page and len(page) == len(set(page)) > 20


def test_the_archive_has_all_that_answers_but_what_is_compiled(
    folder: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(folder / "packages.zip") as archive:
        names = archive.namelist()
        archive.extractall(tmp_path)
    assert len(names) == len(set(names))
    assert not [x for x in names if x.endswith((".so", ".pyd", ".pyc")) or ".." in x]
    assert not [x for x in names if x.startswith(COMPILED) or x.startswith("yaml/")]
    told = "x @ A @ x"
    # Of what is installed, nothing is found but what Pyodide has too.
    program = f"""
import sys
from importlib.util import find_spec
from pathlib import Path
for name in ("numpy", "yaml", "markupsafe"):
    __import__(name)
sys.path[:] = [{str(tmp_path)!r}, *(x for x in sys.path if "site-packages" not in x)]
from tensorgen.play.in_browser import answer
for job in ("compile", "explain", "check"):
    sys.stdout.write(answer(job, '{{"expression": "{told}"}}') + "\\n")
sys.stdout.write(sys.modules["tensorgen"].__file__ + "\\n")
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    *answers, where = done.stdout.splitlines()
    assert Path(where).is_relative_to(tmp_path)
    given = json.dumps({"expression": told})
    assert answers[0] == answer("compile", given)
    for text, key in zip(answers[1:], ("functions", "findings"), strict=True):
        assert json.loads(text)[key]


@pytest.mark.parametrize(
    "given",
    [
        {"expression": "norm(A @ x - y)**2", "order": "second"},
        {"expression": "A @ x + log("},
        {"expression": 3},
        {"spec": "tensorgen: 2\n"},
        {"notation": "", "text": "norm2(A*x-y)^2"},
        {"notation": "no", "text": "x"},
        {"expression": "x" * 300_000},
        {"expression": '</script>\ud800"\u2028é'},
        [],
    ],
    ids=lambda given: repr(given)[:30].encode("ascii", "replace").decode(),
)
@pytest.mark.parametrize("job", [x for x in JOBS if x != "time"])
def test_the_answers_are_those_of_the_server(
    job: str, given: Any, server: TestClient
) -> None:
    body = json.dumps(given)
    headers = {"content-type": "application/json"}
    told = server.post(f"/a/run/{job}", content=body, headers=headers)
    # What a page makes of a refusal: `page/answers_of_server.js`.
    other = told.json() if told.status_code == 200 else {"stopped": told.text}
    assert but_roundings(json.loads(answer(job, body))) == but_roundings(other)


def but_roundings(told: dict[str, Any]) -> dict[str, Any]:
    """An answer without what LAPACK's roundings depend on: it has threads here."""
    for finding in told.get("findings", []):
        del finding["worst"], finding["digits"]
    return told


def test_a_folder_without_the_runtime_is_refused(tmp_path: Path) -> None:
    runtime, made = tmp_path / "runtime", tmp_path / "made"
    runtime.mkdir()
    made.mkdir()
    with pytest.raises(RuntimeFolderError, match=r"has no pyodide\.mjs"):
        build(made, runtime)
    wheels = {name: {"file_name": f"{name}.whl"} for name in (*COMPILED, "other")}
    for name in LOADED:
        (runtime / name).write_text(name, encoding="utf-8")
    (runtime / LOCK).write_text(json.dumps({"packages": wheels}), encoding="utf-8")
    with pytest.raises(RuntimeFolderError, match=r"has no markupsafe\.whl"):
        build(made, runtime)
    assert made.is_dir()  # nothing was removed
    for name in wheels:
        (runtime / f"{name}.whl").write_text(name, encoding="utf-8")
    build(made, runtime)
    copied = {x.name for x in (made / "pyodide").iterdir()}
    assert copied == {*LOADED, *(f"{name}.whl" for name in COMPILED)}
    setup = json.loads((made / "setup.json").read_text(encoding="utf-8"))
    assert setup["runtime"] == "pyodide/"
