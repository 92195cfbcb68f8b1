"""What editors are told of specs while they are written: `tensorgen lsp`.

`faults.py` has the diagnostics of a text, `hover.py` what is said of the name under the
pointer; `language_server.py` carries both to editors, in the language server protocol.
"""
