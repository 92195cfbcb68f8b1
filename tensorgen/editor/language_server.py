"""The language server: diagnostics as one types, and what is under the pointer.

It speaks on standard input and output, and hears of YAML files of all kinds: what does
not say that it is a spec is left alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.workspace import TextDocument

from tensorgen.editor.faults import faults, is_spec
from tensorgen.editor.hover import told
from tensorgen.errors import Diagnostic, Source, Span
from tensorgen.files import LARGEST_TEXT
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

    @made.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovered(given: types.HoverParams) -> types.Hover | None:
        document = text_of(given.text_document.uri)
        if given.position.line > len(document.lines):
            raise JsonRpcInvalidParams(f"there is no line {given.position.line}")
        found: types.Hover | None
        found = await done(lambda: hover(document, given.position), None)
        return found

    return made


def guarded(work: Callable[[], Any], otherwise: Any) -> Any:
    """Return what work gives; what it raises is ours, and goes to the log."""
    try:
        return work()
    except Exception:
        logging.getLogger("tensorgen").exception("a bug of tensorgen's")
        return otherwise


def diagnostics(document: TextDocument) -> list[types.Diagnostic]:
    """Return the faults of a document, if it is a spec."""
    source = _source(document)
    if source is None:
        return []
    return [_diagnostic(one, document) for one in faults(source)]


def hover(document: TextDocument, at: types.Position) -> types.Hover | None:
    """Return what is told of a place of a document."""
    source = _source(document)
    if source is None:
        return None
    lines = document.lines
    place = document.position_codec.position_from_client_units(lines, at)
    before = source.text.split("\n")[: place.line]
    offset = sum(len(line) + 1 for line in before) + place.character
    found = told(source, offset)
    if found is None:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, found.markdown)
    return types.Hover(content, _range(found.span, document))


def _source(document: TextDocument) -> Source | None:
    text = document.source
    if len(text) > LARGEST_TEXT or not is_spec(text):
        return None
    name = document.filename or "spec.yaml"
    return Source(name, text.replace("\r\n", "\n").replace("\r", "\n"))


def _diagnostic(one: Diagnostic, document: TextDocument) -> types.Diagnostic:
    message = one.message + (f"\n{one.hint}" if one.hint else "")
    related = [
        types.DiagnosticRelatedInformation(
            types.Location(document.uri, _range(span, document)), text
        )
        for span, text in one.marks
        if text
    ]
    span = one.span or Span(Source("", ""), 0, 0)
    return types.Diagnostic(
        _range(span, document),
        message,
        types.DiagnosticSeverity.Error,
        source="tensorgen",
        related_information=related,
    )


def _range(span: Span, document: TextDocument) -> types.Range:
    end = Span(span.source, max(span.start, span.end), span.end)
    places = types.Range(
        types.Position(span.line - 1, span.column - 1),
        types.Position(end.line - 1, end.column - 1),
    )
    return document.position_codec.range_to_client_units(document.lines, places)
