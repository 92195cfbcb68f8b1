"""The language server: faults as one types, and answers to what editors ask.

It speaks on standard input and output, and hears of YAML files of all kinds: what does
not say that it is a spec is left alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.workspace import TextDocument

from tensorgen.editor.answers import ANSWERS, Answer, diagnostics
from tensorgen.editor.documents import source_of
from tensorgen.version import __version__

PAUSE = 0.15
"""Seconds without a keystroke after which a text is read."""


class _Answering(LanguageServerProtocol):
    """Answers also the requests that it cannot read, which pygls drops."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], None, error.to_response_error())
            raise


def server() -> LanguageServer:
    """Return a server that knows what to do, and has not started."""
    made = LanguageServer(
        "tensorgen",
        __version__,
        types.TextDocumentSyncKind.Incremental,
        protocol_cls=_Answering,
    )

    # Compiling takes a while, and whoever types does not wait for it; one at a time,
    # for what is known of sizes is shared.
    worker = ThreadPoolExecutor(1)

    async def done(work: Callable[[], Any], otherwise: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(worker, guarded, work, otherwise)

    def text_of(uri: str) -> TextDocument:
        return made.workspace.get_text_document(uri)

    async def publish(uri: str, version: int | None) -> None:
        document = text_of(uri)
        found = await done(lambda: diagnostics(document), [])
        if text_of(uri).version == version:
            told = types.PublishDiagnosticsParams(uri, found, version)
            made.text_document_publish_diagnostics(told)

    @made.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(given: types.DidOpenTextDocumentParams) -> None:
        await publish(given.text_document.uri, given.text_document.version)

    @made.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(given: types.DidChangeTextDocumentParams) -> None:
        uri, version = given.text_document.uri, given.text_document.version
        await asyncio.sleep(PAUSE)
        if text_of(uri).version == version:
            await publish(uri, version)

    @made.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(given: types.DidCloseTextDocumentParams) -> None:
        uri = given.text_document.uri
        made.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def answering(answer: Answer) -> Callable[[Any], Awaitable[Any]]:
        async def answered(asked: Any) -> Any:
            document = text_of(asked.text_document.uri)
            source = source_of(document)
            if source is None:
                return None
            return await done(lambda: answer.work(source, document, asked), None)

        return answered

    for answer in ANSWERS:
        made.feature(answer.method, answer.options)(answering(answer))
    return made


def guarded(work: Callable[[], Any], otherwise: Any) -> Any:
    """Return what work gives; what it raises is ours, and goes to the log.

    What it answers by an error of the protocol is an answer.
    """
    try:
        return work()
    except JsonRpcException:
        raise
    except Exception:
        logging.getLogger("tensorgen").exception("a bug of tensorgen's")
        return otherwise
