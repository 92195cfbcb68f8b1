"""Emitted functions timed beside what the cost model says of them, and beside JAX.

`points.py` chooses sizes and arguments, `clock.py` times and weighs, `answers.py`
compares results with the formula, and `rows.py` puts together what `table.py` shows.
What JAX is given is the same formula, taken from the nodes before any pass: `twin.py`
interprets them in `jax.numpy`, `products.py` the products among them, `tables.py` the
functions; `kinds.py` has JAX differentiate.
"""

from tensorgen.bench.points import WrongSizesError
from tensorgen.bench.rows import Bench, Row
from tensorgen.bench.table import as_json, table

__all__ = ["Bench", "Row", "WrongSizesError", "as_json", "table"]
