"""The command: what it tells, where it listens, and what it needs."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from tensorgen import cli

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/([\w-]{32})/")


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, int, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "tensorgen", "play", "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            address = process.stderr.readline().strip()
            found = ADDRESS.fullmatch(address)
            assert found is not None, address
            yield address, int(found[1]), process
        finally:
            process.kill()


def test_a_page_is_served_at_the_address_that_is_told(
    served: tuple[str, int, subprocess.Popen[str]],
) -> None:
    address, port, _ = served
    with urllib.request.urlopen(address, timeout=20) as answer:
        assert "tensorgen" in answer.read().decode()
        assert "server" not in {name.lower() for name in answer.headers}
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=20)
    assert refused.value.code == 403


def test_other_addresses_of_the_machine_are_not_listened_at(
    served: tuple[str, int, subprocess.Popen[str]],
) -> None:
    _, port, _ = served
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", port), timeout=2)


def test_a_port_that_is_taken_is_told(
    served: tuple[str, int, subprocess.Popen[str]],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    told = run(monkeypatch, capfd, "--no-browser", "--port", str(served[1]))
    assert told[0] == 2
    assert "in use" in told[1] and "Traceback" not in told[1]


def test_an_interrupt_ends_it(
    served: tuple[str, int, subprocess.Popen[str]],
) -> None:
    _, _, process = served
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 130
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_what_to_install_is_said(
    missing: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "tensorgen.play.http_server", raising=False)
    for name in [missing, *(x for x in sys.modules if x.startswith(f"{missing}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    code, told = run(monkeypatch, capfd, "--no-browser")
    assert code == 2
    assert "play needs Starlette and uvicorn: pip install 'tensorgen[web]'" in told


def run(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *given: str
) -> tuple[object, str]:
    """Run the command here; return its exit code and what it says."""
    monkeypatch.setattr(sys, "argv", ["tensorgen", "play", *given])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return left.value.code, capfd.readouterr().err
