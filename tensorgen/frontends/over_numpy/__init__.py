"""Functions over NumPy, statement by statement and expression by expression.

`numpy_values.py` says what names and expressions stand for, `numpy_program.py` what is
known so far. `numpy_bodies.py` reads statements, `numpy_expressions.py` expressions,
with `numpy_conditions.py` and `numpy_subscripts.py`. Calls (`numpy_calls.py`) are rows
of `numpy_table.py`, or go by shapes: `numpy_matrix_calls.py`, `numpy_shape_calls.py`.
"""
