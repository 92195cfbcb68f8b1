"""Emitted functions timed beside what the cost model says of them, and beside JAX.

`timing_points.py` chooses sizes and arguments, `clock.py` times and weighs,
`answers.py` compares results with the formula, and `timed_rows.py` puts together what
`report_table.py` shows. What JAX is given is the same formula, taken from the nodes
before any pass: `twin.py` interprets them in `jax.numpy`, `twin_products.py` the
products among them, `twin_functions.py` the functions; `twin_derivatives.py` has JAX
differentiate.
"""

from tensorgen.bench.report_table import as_json, table
from tensorgen.bench.timed_rows import Bench, Row
from tensorgen.bench.timing_points import WrongSizesError

__all__ = ["Bench", "Row", "WrongSizesError", "as_json", "table"]
