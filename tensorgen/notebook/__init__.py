"""How things show themselves in notebooks, and the magic `%%tensorgen`.

| file              | holds                                                            |
|-------------------|------------------------------------------------------------------|
| `object_views.py` | a derivative object: its picture, structure and size             |
| `module_views.py` | a module: its functions as a table                               |
| `extension.py`    | what `%load_ext tensorgen` registers with IPython                |

IPython is imported by the last one alone.
"""
