"""Who is answered, with what, and what a request may take."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from multiprocessing import active_children
from typing import Any

import pytest
from starlette.testclient import TestClient

from tensorgen.play.guard import HEADERS, Guard, new_token
from tensorgen.play.http_server import application
from tensorgen.play.page_files import EXAMPLES, FILES
from tensorgen.play.processes import BusyError, Workers
from tensorgen.play.requests import JOBS, MIB, Budget

TOKEN = "a-secret"
HERE = "http://127.0.0.1:8000"
SLOW = {"expression": "sum(x)" + "".join(f" + norm(A{k} @ x)**{k}" for k in range(400))}


def client(budget: Budget | None = None, address: str = HERE) -> TestClient:
    app = application(TOKEN, Workers(budget or Budget()))
    return TestClient(app, base_url=address, follow_redirects=False)


@pytest.fixture(scope="module")
def page() -> Iterator[TestClient]:
    with client() as found:
        yield found


@pytest.mark.parametrize("path", [*FILES, EXAMPLES])
def test_all_of_the_page_is_there_and_says_what_it_may_do(
    page: TestClient, path: str
) -> None:
    answer = page.get(f"/{TOKEN}/{path}")
    assert answer.status_code == 200 and answer.text
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy


def test_the_page_refers_to_nothing_else_and_holds_no_script_of_its_own(
    page: TestClient,
) -> None:
    text = page.get(f"/{TOKEN}/").text
    found = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert sorted(found) == ["answers.js", "data:,", "page.css", "page.js"]
    assert not re.search(r"<script>|<style|style=|\son\w+=|https?:", text)
    for name in ("answers.js", "page.css", "page.js"):
        assert not re.search(
            r"https?:|@import|url\(", page.get(f"/{TOKEN}/{name}").text
        )
    wanted = set(re.findall(r'find\("([\w-]+)"\)', page.get(f"/{TOKEN}/page.js").text))
    assert len(wanted) > 10
    assert wanted <= set(re.findall(r'id="([^"]+)"', text))


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/page.js", "/a-secre/", "/a-secret-/", "/A-SECRET/", "//"),
        *("/run/compile", "/%61-secre%74x/", "/%c3%a9/", "/other/a-secret/"),
    ],
)
def test_without_the_token_nothing_is_answered(page: TestClient, path: str) -> None:
    for answer in (page.get(path), page.post(path, json={})):
        assert answer.status_code == 403
        assert TOKEN not in answer.text


def test_the_folder_of_the_token_is_the_page(page: TestClient) -> None:
    answer = page.get(f"/{TOKEN}")
    assert answer.status_code == 307
    assert answer.headers["location"] == f"/{TOKEN}/"
    assert page.get(f"/{TOKEN}/../../etc/passwd").status_code in (403, 404)
    assert page.get(f"/{TOKEN}/page.py").status_code == 404
    assert page.get(f"/{TOKEN}/run/compile").status_code == 405
    assert page.post(f"/{TOKEN}/run/other", json={}).status_code == 404


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("127.0.0.1:8000", 200),
        ("localhost:9", 200),
        ("localhost", 200),
        ("evil.example:8000", 421),
        ("127.0.0.1.evil.example", 421),
        ("evil.example:127.0.0.1", 421),
        ("", 421),
    ],
)
def test_only_this_machine_by_its_own_name_is_asked(
    page: TestClient, host: str, code: int
) -> None:
    assert page.get(f"/{TOKEN}/", headers={"host": host}).status_code == code


@pytest.mark.parametrize(
    ("origin", "code"),
    [
        (HERE, 200),
        ("http://127.0.0.1:8001", 403),
        ("https://127.0.0.1:8000", 403),
        ("http://localhost:8000", 403),
        ("http://evil.example", 403),
        ("http://127.0.0.1:8000.evil.example", 403),
        ("null", 403),
        ("", 403),
    ],
)
def test_pages_of_other_origins_are_refused_even_with_the_token(
    page: TestClient, origin: str, code: int
) -> None:
    assert page.get(f"/{TOKEN}/", headers={"origin": origin}).status_code == code
    answer = page.post(f"/{TOKEN}/run/other", json={}, headers={"origin": origin})
    assert answer.status_code == (404 if code == 200 else code)


def test_what_scrolls_is_reached_by_keys_and_has_a_name(page: TestClient) -> None:
    text = page.get(f"/{TOKEN}/").text
    made = page.post(f"/{TOKEN}/run/explain", json={"expression": "sum(x**2)"}).json()
    text += "".join(one["html"] for one in made["functions"])
    found = re.findall(r'<pre[^>]*>|<div[^>]*class="[^"]*\bwide\b[^>]*>', text)
    assert len(found) > 5
    for tag in found:
        assert 'tabindex="0"' in tag and 'role="region"' in tag, tag
        assert re.search(r'aria-label="[^"]+"', tag), tag


def test_tokens_are_long_and_new() -> None:
    found = {new_token() for _ in range(100)}
    assert len(found) == 100
    assert all(re.fullmatch(r"[\w-]{32}", token) for token in found)


def test_no_other_connection_is_opened() -> None:
    reached = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope["type"])

    scope = {"type": "websocket", "path": f"/{TOKEN}/", "headers": []}
    asyncio.run(Guard(app, TOKEN)(scope, None, None))  # type: ignore[arg-type]
    assert reached == []


@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        (b"{}", "text/plain", 415),
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b'{"spec": "' + b"x" * 300_000 + b'"}', "application/json", 413),
    ],
    ids=["no JSON by its kind", "no JSON", "no object", "deep", "long"],
)
def test_what_is_no_request_is_refused(
    page: TestClient, body: bytes, kind: str, code: int
) -> None:
    answer = page.post(
        f"/{TOKEN}/run/compile", content=body, headers={"content-type": kind}
    )
    assert answer.status_code == code


KEYS = {
    "translate": "spec",
    "compile": "modules",
    "explain": "functions",
    "check": "findings",
    "time": "times",
}


@pytest.mark.parametrize("job", JOBS)
def test_every_job_is_answered(page: TestClient, job: str) -> None:
    given = {"expression": "x @ A @ x"}
    if job == "translate":
        given = {"notation": "", "text": "x'*A*x"}
    answer = page.post(f"/{TOKEN}/run/{job}", json=given)
    assert answer.status_code == 200
    assert answer.json()[KEYS[job]]


def test_faults_are_answers(page: TestClient) -> None:
    answer = page.post(f"/{TOKEN}/run/compile", json={"spec": "tensorgen: 2\n"})
    first, *_ = answer.json()["diagnostics"]
    assert first["kind"] == "error" and (first["line"], first["column"]) == (1, 1)
    assert "    1 | tensorgen: 2\n      | ^" in first["text"]


def run(budget: Budget, given: dict[str, Any], job: str = "compile") -> dict[str, Any]:
    async def never() -> bool:
        return False

    return asyncio.run(Workers(budget).run(job, given, never))


def test_work_ends_when_its_time_is_over() -> None:
    answer = run(Budget(seconds=0.5), SLOW)
    assert answer == {
        "stopped": "it took longer than the 0.5 seconds allowed for a request"
    }
    assert not active_children()


def test_work_ends_when_its_memory_is_used_up() -> None:
    long = {"expression": f"[{'x, ' * 60_000}x]"}
    assert "diagnostics" in run(Budget(), long)
    answer = run(Budget(memory=100 * MIB), long)
    assert "memory" in answer["stopped"]


def test_an_answer_that_is_too_long_is_not_sent() -> None:
    answer = run(Budget(answer=1000), {"expression": "x @ x"})
    assert answer == {"stopped": "the result is too long for a page"}


def test_work_that_nobody_waits_for_ends() -> None:
    asked = []

    async def gone() -> bool:
        asked.append(True)
        return len(asked) > 1  # not before it has begun

    answer = asyncio.run(Workers(Budget(seconds=60)).run("compile", SLOW, gone))
    assert "seconds" not in answer["stopped"]  # it ended before
    assert not active_children()


def test_some_run_some_wait_and_the_others_are_told_so() -> None:
    workers = Workers(Budget(seconds=20, running=1, waiting=1))

    async def never() -> bool:
        return False

    async def ask() -> list[Any]:
        given = {"expression": "x @ x"}
        work = [workers.run("compile", given, never) for _ in range(3)]
        return await asyncio.gather(*work, return_exceptions=True)

    found = asyncio.run(ask())
    assert [isinstance(x, BusyError) for x in found] == [False, False, True]
    assert all("modules" in x for x in found[:2])


def test_hostile_text_comes_back_escaped_or_as_json(page: TestClient) -> None:
    text = "</script><script>alert('1')</script>\""
    given = {"expression": text, "kinds": {text: "vector"}, "shapes": {}}
    answer = page.post(f"/{TOKEN}/run/compile", json=given)
    assert answer.headers["content-type"] == "application/json"
    assert text in json.loads(answer.text)["diagnostics"][0]["text"]
