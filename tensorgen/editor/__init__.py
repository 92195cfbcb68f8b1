"""What editors are told of specs while they are written: `tensorgen lsp`.

`faults.py` has the diagnostics of a text; what their hints say is meant is in them, a
`Suggestion` of `errors.py`. `occurrences.py` has the places of names, and what each
stands for. On these stand what is asked of a place: `hover.py` what is said of it,
`cursor.py` the keys around it, `completion.py` what may be typed there,
`definitions.py` where its name is defined and used, `rename.py` another name for it;
and of a whole text: `spacing.py` its formatting, `symbols.py` its outline.

None of them knows of editors: `answers.py` carries them there in the types of the
language server protocol, `documents.py` its places, `language_server.py` the requests.
"""
