"""Front ends: what people have their functions in, read and written as specs.

`translation.py` has what a front end returns, the text of a spec with the remarks of
who reads it. A front end only reads: nothing it is given is run. `numpy_functions.py`
reads functions over NumPy: bodies (`numpy_bodies.py`), expressions
(`numpy_expressions.py`, `numpy_subscripts.py`) and calls, most of which are rows of a
table (`numpy_table.py`); `python_source.py` says what names of the file refer to, and
where. Shapes are those that the language proves (`known_shapes.py`), and faults of the
spec are told of what its pieces came from (`spec_text.py`). What is made in Python is
a `MadeSpec`: `decorated_function.py` decorates functions, `spec_builder.py` puts specs
together.
"""
