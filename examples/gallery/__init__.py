"""Models that people recognise: a spec and a run each; `docs/gallery.py` runs them.

Each module holds

- its docstring, which says what the model is,
- `TITLE`, and `SPEC`, the file of the spec,
- `SHOWN`, the generated function that the page explains and quotes,
- `run()`, which generates, fits or solves, and returns a `Run`.
"""
