"""What functions of a module for CuPy launch, and where their host waits, by its text.

| file             | holds                                                |
|------------------|------------------------------------------------------|
| `law.py`         | which calls launch, and which wait                   |
| `values.py`      | what is known of values: where they are, and sizes   |
| `counts.py`      | launches and waits as polynomials of sizes           |
| `statements.py`  | goes through the statements of functions             |
| `expressions.py` | what expressions launch, and where what they give is |
| `calls.py`       | what calls do                                        |
"""

from tensorgen.emit.launches.counts import Count, Uncountable
from tensorgen.emit.launches.statements import SWEEPS, launches_of

__all__ = ["SWEEPS", "Count", "Uncountable", "launches_of"]
