"""How exact generated values and derivatives are, against arithmetic of many digits.

`forms` lists the functions, `measure` judges them; `python -m tests.accuracy` writes
the table, and `tests/test_accuracy.py` holds a coarse grid of it to the bound.
"""
