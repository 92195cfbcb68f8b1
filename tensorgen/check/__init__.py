"""Holds each emitted function against the derivative as calculus first states it.

And runs all that is emitted, for what raises would be found by users alone.
"""

from tensorgen.check.batches import Batch
from tensorgen.check.row_blocks import Composition, Round
from tensorgen.check.trial_runs import run
from tensorgen.check.verdicts import Claim, Report, check, domain_of

__all__ = [
    "Batch",
    "Claim",
    "Composition",
    "Report",
    "Round",
    "check",
    "domain_of",
    "run",
]
