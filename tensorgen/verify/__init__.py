"""Modules compared with their spec, numerically, at random points.

Nothing here knows of plans: nodes are taken as they are elaborated, before any pass,
and read by a slow and obvious interpreter (`interpret.py`). Values are compared with
it, first derivatives with its complex steps, higher ones with differences of these
(`reference.py`). Where they are compared, `cases.py` chooses, and how an emitted
function is called is said by `emitted_calls.py`; what holds of each kind of derivative,
`derivative_claims.py`, of objects of derivatives, `object_claims.py`, and of problems,
`problem_claims.py`.
"""

from tensorgen.verify.findings import BAD, Finding, table
from tensorgen.verify.verified_modules import Subject, generated, on_disk
from tensorgen.verify.verify import Verification

__all__ = ["BAD", "Finding", "Subject", "Verification", "generated", "on_disk", "table"]
