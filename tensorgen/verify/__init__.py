"""Modules held against what their spec says, by numbers, at random points.

Nothing here knows of plans: nodes are taken as they are elaborated, before any pass,
and read by a slow and obvious interpreter (`interpret.py`). Values are compared with
it, first derivatives with its complex steps, higher ones with differences of these
(`reference.py`). Where they are compared, `cases.py` chooses, and how an emitted
function is called is said by `calls.py`; what holds of each kind of derivative,
`kinds.py`, of objects of derivatives, `objects.py`, and of problems, `problems.py`.
"""

from tensorgen.verify.findings import BAD, Finding, table
from tensorgen.verify.modules import Subject, generated, on_disk
from tensorgen.verify.verify import Verification

__all__ = ["BAD", "Finding", "Subject", "Verification", "generated", "on_disk", "table"]
