"""Holds each emitted function against the derivative as calculus first states it."""

from tensorgen.check.verdicts import Claim, Report, check

__all__ = ["Claim", "Report", "check"]
