"""An editor, as far as a language server can tell: JSON-RPC on standard streams."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

PATIENCE = 60.0
"""Seconds that a server may take for an answer."""


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, code: int, message: str) -> None:
        """Keep the code."""
        super().__init__(message)
        self.code = code


class Client:
    """Starts a server, opens documents, and asks what stands where."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        """Start the server in a folder."""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
        )
        self._folder, self._count = folder, 0
        self._heard: queue.Queue[dict[str, Any]] = queue.Queue()
        self.diagnostics: dict[str, list[Any]] = {}
        self.can: dict[str, Any] = {}
        self._versions: dict[str, int] = {}
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> Client:
        completion = {"completionItem": {"documentationFormat": ["markdown"]}}
        kinds = {"codeActionKind": {"valueSet": ["quickfix"]}}
        told = self.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": self._folder.as_uri(),
                "capabilities": {
                    "textDocument": {
                        "completion": completion,
                        "hover": {"contentFormat": ["markdown"]},
                        "publishDiagnostics": {},
                        "codeAction": {"codeActionLiteralSupport": kinds},
                        "rename": {"prepareSupport": True},
                    }
                },
            },
        )
        self.can = told["capabilities"]
        self.tell("initialized", {})
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.ask("shutdown", None)
        self.tell("exit", None)
        try:
            self._process.wait(10)
        finally:
            self._process.kill()

    def _listen(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        while line := stream.readline():
            length = int(line.split(b":")[1])
            while stream.readline().strip():
                pass
            self._heard.put(json.loads(stream.read(length)))

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()

    def _hear(self, until: float) -> dict[str, Any]:
        message = self._heard.get(timeout=max(until - time.monotonic(), 0.01))
        if message.get("method") == "textDocument/publishDiagnostics":
            given = message["params"]
            self.diagnostics[given["uri"]] = given["diagnostics"]
        elif "method" in message and "id" in message:
            # What a server asks of an editor: settings, of which there are none.
            items = (message["params"] or {}).get("items", [])
            self._send({"id": message["id"], "result": [None for _ in items]})
        return message

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> Any:
        """Send a request, and return its result; raises `Refused` for an error."""
        self._count += 1
        self._send({"id": self._count, "method": method, "params": params})
        until = time.monotonic() + PATIENCE
        while True:
            message = self._hear(until)
            if message.get("id") == self._count and "method" not in message:
                if error := message.get("error"):
                    raise Refused(error["code"], error["message"])
                return message["result"]

    def write(self, name: str, text: str) -> list[Any]:
        """Open a document, or change all of it, and return its diagnostics."""
        uri = self.uri(name)
        self.diagnostics.pop(uri, None)
        if uri not in self._versions:
            self._versions[uri] = 1
            own = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
            self.tell("textDocument/didOpen", {"textDocument": own})
        else:
            self._versions[uri] += 1
            own = {"uri": uri, "version": self._versions[uri]}
            given = {"textDocument": own, "contentChanges": [{"text": text}]}
            self.tell("textDocument/didChange", given)
        until = time.monotonic() + PATIENCE
        while uri not in self.diagnostics:
            self._hear(until)
        return self.diagnostics[uri]

    def uri(self, name: str) -> str:
        """Return how a document is called."""
        return (self._folder / name).as_uri()

    def of(self, name: str, what: str, **more: Any) -> Any:
        """Ask for something of a document, such as `formatting`."""
        own = {"textDocument": {"uri": self.uri(name)}}
        return self.ask(f"textDocument/{what}", own | more)

    def at(self, name: str, line: Any, column: Any, what: str, **more: Any) -> Any:
        """Ask for `hover` or `completion` at a place, both counted from 0."""
        place = {"line": line, "character": column}
        return self.of(name, what, position=place, **more)
