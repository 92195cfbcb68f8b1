"""How things show themselves in notebooks, and the magic `%%tensorgen`.

| file              | holds                                                            |
|-------------------|------------------------------------------------------------------|
| `pattern.py`      | which entries of a derivative there are, as a small picture      |
| `object_views.py` | a derivative object: its picture, structure and size             |
| `module_views.py` | a module: its functions as a table                               |
| `magic.py`        | a cell whose text is a spec                                      |
| `extension.py`    | what `%load_ext tensorgen` registers with IPython                |

IPython is imported by the last two alone.
"""
