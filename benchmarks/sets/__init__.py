"""The sets of the suite: a file each, of cases that make one table and one plot."""

from sets import (
    elementwise,
    expressions,
    factorisation,
    fields,
    generation,
    hand,
    high_orders,
    logistic,
    modes,
    networks,
    papers,
)

SETS = (
    logistic.SET,
    factorisation.SET,
    networks.SET,
    high_orders.SET,
    expressions.SET,
    elementwise.SET,
    generation.SET,
    modes.SET,
    hand.SET,
    fields.SET,
)
EVERY = (*SETS, *papers.SETS)
"""Those of `papers.py` as well, which has tables of its own."""
