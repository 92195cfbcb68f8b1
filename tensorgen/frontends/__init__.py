"""Front ends: what people have their functions in, read and written as specs.

`translation.py` has what a front end returns, the text of a spec with the remarks of who
reads it; each other file reads one notation. A front end only reads: nothing it is given
is run.
"""
