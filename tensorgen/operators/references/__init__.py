"""What functions mean, in NumPy, written apart from what is emitted.

`rows` has the reference of every row of both tables, which the other files define by
what they are of; `rounding` says how far two computations of one thing may differ.
"""

from typing import Any

Array = Any
"""Numbers of any kind that NumPy, or a field, computes with."""
