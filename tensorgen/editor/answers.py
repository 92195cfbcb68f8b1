"""What editors ask of a document, answered in the types of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.workspace import TextDocument

from tensorgen.editor.completion import proposals
from tensorgen.editor.definitions import PRELUDE, defined, mentioned
from tensorgen.editor.documents import offset_of, range_in_file, range_of, source_of
from tensorgen.editor.faults import faults
from tensorgen.editor.hover import told
from tensorgen.editor.rename import Refused, renameable, renamed
from tensorgen.editor.spacing import spacing
from tensorgen.editor.symbols import Symbol, symbols
from tensorgen.errors import Diagnostic, Source, Span

MARKDOWN = types.MarkupKind.Markdown
REQUEST_FAILED = -32803
"""The code of the protocol for what cannot be done, and is no fault of the editor."""

Asked = Any


def diagnostics(document: TextDocument) -> list[types.Diagnostic]:
    """Return the faults of a document, if it is a spec."""
    source = source_of(document)
    if source is None:
        return []
    return [_diagnostic(one, document) for one in faults(source)]


def _diagnostic(one: Diagnostic, document: TextDocument) -> types.Diagnostic:
    message = one.message + (f"\n{one.hint}" if one.hint else "")
    related = [
        types.DiagnosticRelatedInformation(
            types.Location(document.uri, range_of(span, document)), text
        )
        for span, text in one.marks
        if text
    ]
    span = one.span or Span(Source("", ""), 0, 0)
    return types.Diagnostic(
        range_of(span, document),
        message,
        types.DiagnosticSeverity.Error,
        source="tensorgen",
        related_information=related,
    )


def _hover(source: Source, document: TextDocument, asked: Asked) -> types.Hover | None:
    found = told(source, offset_of(source, document, asked.position))
    if found is None:
        return None
    content = types.MarkupContent(MARKDOWN, found.markdown)
    return types.Hover(content, range_of(found.span, document))


_KINDS = {
    "input": types.CompletionItemKind.Variable,
    "local": types.CompletionItemKind.Variable,
    "index": types.CompletionItemKind.Variable,
    "dim": types.CompletionItemKind.TypeParameter,
    "function": types.CompletionItemKind.Function,
    "constant": types.CompletionItemKind.Constant,
    "key": types.CompletionItemKind.Property,
    "word": types.CompletionItemKind.EnumMember,
}


def _completion(
    source: Source, document: TextDocument, asked: Asked
) -> types.CompletionList:
    offset = offset_of(source, document, asked.position)
    found = proposals(source, offset)
    place = range_of(Span(source, found.start, offset), document)
    items = [
        types.CompletionItem(
            one.word,
            kind=_KINDS[one.sort],
            detail=one.detail or None,
            documentation=types.MarkupContent(MARKDOWN, one.told) if one.told else None,
            text_edit=types.TextEdit(place, one.word),
        )
        for one in found.words
    ]
    return types.CompletionList(is_incomplete=False, items=items)


def _definition(
    source: Source, document: TextDocument, asked: Asked
) -> list[types.Location]:
    spans = defined(source, offset_of(source, document, asked.position))
    return [_location(span, document) for span in spans]


def _location(span: Span, document: TextDocument) -> types.Location:
    if span.source.name == PRELUDE:
        return types.Location(Path(PRELUDE).as_uri(), range_in_file(span))
    return types.Location(document.uri, range_of(span, document))


def _references(
    source: Source, document: TextDocument, asked: Asked
) -> list[types.Location]:
    offset = offset_of(source, document, asked.position)
    spans = mentioned(source, offset, asked.context.include_declaration)
    return [_location(span, document) for span in spans]


def _highlights(
    source: Source, document: TextDocument, asked: Asked
) -> list[types.DocumentHighlight]:
    spans = mentioned(source, offset_of(source, document, asked.position), True)
    return [types.DocumentHighlight(range_of(span, document)) for span in spans]


def _preparation(
    source: Source, document: TextDocument, asked: Asked
) -> types.PrepareRenamePlaceholder:
    offset = offset_of(source, document, asked.position)
    try:
        found = renameable(source, offset)
    except Refused as error:
        raise JsonRpcException(str(error), REQUEST_FAILED) from error
    place = range_of(found.span, document)
    return types.PrepareRenamePlaceholder(place, found.name.name)


def _rename(
    source: Source, document: TextDocument, asked: Asked
) -> types.WorkspaceEdit:
    offset = offset_of(source, document, asked.position)
    try:
        spans = renamed(source, offset, asked.new_name)
    except Refused as error:
        raise JsonRpcException(str(error), REQUEST_FAILED) from error
    return _edit(((span, asked.new_name) for span in spans), document)


def _edit(
    edits: Iterable[tuple[Span, str]], document: TextDocument
) -> types.WorkspaceEdit:
    return types.WorkspaceEdit({document.uri: _edits(edits, document)})


def _edits(
    edits: Iterable[tuple[Span, str]], document: TextDocument
) -> list[types.TextEdit]:
    return [types.TextEdit(range_of(span, document), text) for span, text in edits]


def _formatting(
    source: Source, document: TextDocument, asked: Asked
) -> list[types.TextEdit]:
    return _edits(spacing(source), document)


def _fixes(
    source: Source, document: TextDocument, asked: Asked
) -> list[types.CodeAction]:
    """What hints say is meant, for the faults that a range of the document touches."""
    start = offset_of(source, document, asked.range.start)
    end = offset_of(source, document, asked.range.end)
    found = []
    for one in faults(source):
        if one.fix is None or one.span is None:
            continue
        place, word = one.fix
        near = (one.span, place)
        if any(span.start <= end and start <= span.end for span in near):
            found.append(
                types.CodeAction(
                    f"Replace by '{word}'",
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[_diagnostic(one, document)],
                    is_preferred=True,
                    edit=_edit([(place, word)], document),
                )
            )
    return found


_SYMBOLS = {
    "input": types.SymbolKind.Variable,
    "local": types.SymbolKind.Variable,
    "dim": types.SymbolKind.TypeParameter,
    "function": types.SymbolKind.Function,
    "problem": types.SymbolKind.Class,
}


def _outline(
    source: Source, document: TextDocument, asked: Asked
) -> list[types.DocumentSymbol]:
    return [_symbol(one, document) for one in symbols(source)]


def _symbol(one: Symbol, document: TextDocument) -> types.DocumentSymbol:
    return types.DocumentSymbol(
        one.name,
        _SYMBOLS[one.sort],
        range_of(one.whole, document),
        range_of(one.own, document),
        detail=one.detail,
        children=[_symbol(inner, document) for inner in one.within],
    )


class Answer(NamedTuple):
    """A request, what a server says of it beforehand, and how it is answered."""

    method: str
    options: Any
    work: Callable[[Source, TextDocument, Asked], Any]


_DOT = types.CompletionOptions(trigger_characters=["."])
_PREPARED = types.RenameOptions(prepare_provider=True)
_QUICK = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
ANSWERS = (
    Answer(types.TEXT_DOCUMENT_HOVER, None, _hover),
    Answer(types.TEXT_DOCUMENT_COMPLETION, _DOT, _completion),
    Answer(types.TEXT_DOCUMENT_DEFINITION, None, _definition),
    Answer(types.TEXT_DOCUMENT_REFERENCES, None, _references),
    Answer(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, None, _highlights),
    Answer(types.TEXT_DOCUMENT_PREPARE_RENAME, None, _preparation),
    Answer(types.TEXT_DOCUMENT_RENAME, _PREPARED, _rename),
    Answer(types.TEXT_DOCUMENT_FORMATTING, None, _formatting),
    Answer(types.TEXT_DOCUMENT_CODE_ACTION, _QUICK, _fixes),
    Answer(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, None, _outline),
)
"""What can be asked of a document; of one that is no spec the answer is null."""
