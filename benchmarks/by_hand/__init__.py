"""Functions beside what an expert writes for them by hand, each with data to run on."""

from by_hand.problem import Problem

__all__ = ["Problem"]
