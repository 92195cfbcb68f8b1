"""How far the passes look: what bounds their work, and where one form is preferred.

What is bounded here grows with a power of a spec or faster; the numbers are as large
as examples need, and so small that planning takes seconds. The bounds on the search for
an order stand beside it, in `search_trees`, and the unit of costs in `cost`.
"""

# Shares of the modelled cost: below them another form is taken.

SHARE_OF_EXPANDED = 0.5
"""A product moves into a difference, which costs digits, only for half the cost."""

SHARE_OF_TABLES = 2.0
"""One of three axes, which only memory gives, is left for twice the operations: matrix
products, which take its place, are several times as fast."""

SHARE_OF_FACTORED = 0.99
"""A factored form must cost less than the sum by a margin, or they would alternate."""

SHARE_OF_SCALED = 0.999999
"""A scaling that terms share costs little beside their products of matrices: to have it
once is less by more than rounding."""

CALLS_OF_A_PROBLEM = 20
"""Calls that share what is computed once: an iterative solver makes about as many."""

GAIN_OF_A_RULE = 8
"""How much less entries at places by rule must hold than arrays with zeros."""

GAIN_OF_LOW_RANK = 2
"""How many times the rank a matrix must have rows to gain by Woodbury."""

# Rounds over a graph.

FLATTENING_ROUNDS = 3
"""A later round sees what an earlier one has uncovered; a fourth found nothing yet."""

ENTRIES_ROUNDS = 8
"""How many operands deep what is read is moved: one a round."""

# Factors of a product.

OPENED_FACTORS = 12
"""In a product seen n-ary: a few more than the search for an order takes exactly."""

SHARED_FACTORS = 64
"""In a product in which others are looked for that are made: ten layers have 40."""

STEPS_OF_A_MATCH = 500
"""To find one product in another: where no node occurs twice, a step a factor."""

STEADY_FACTORS = 6
"""Of one rate: all their subsets (57 of two and more) are priced."""

# Terms of a sum.

DISTRIBUTED_TERMS = 64
"""Of a sum into which a product moves."""

DISTRIBUTED_TERMS_IN_ALL = 2000
"""Over a whole graph; after so many nothing is distributed any more."""

FACTORED_TERMS = 256
"""Of a sum of pairs that are factored: each step looks at all of them again."""

STEPS_TO_COMPRESS = 300_000
"""To find what to hold of a tensor, in several ways one after the other."""

STEPS_TO_SHARE = 20_000
"""The steps after which a pass that shares a little work gives up."""

# Candidates.

CANDIDATES_A_SUM = 8
"""Common factors that are priced for a sum, the largest saving first."""

TRIALS_A_SUM = 200
"""Priced candidates after which each rest of a sum prices only its first."""

TRIALS_IN_ALL = 600
"""Priced candidates over a graph after which only what never costs moves outside."""

# Steps.

ROOM_OF_ITEMS = 2
"""What a step computes without its states is made for all steps before, if it is at
most so many times as large as the largest state, or as what a step is given."""

STORE = 300.0
"""What a row costs that is stored in a step and read again, its entries aside."""

ROWS_AT_HAND = 2**17
"""The entries of rows over all steps that caches hold: they may be larger, then."""

GAIN_OF_KEEPING = 4.0
"""What a step has computed is kept for later if to compute it anew, for all steps at
once, costs so many times as much as to store it."""

# Axes.

PERMUTATIONS_A_SUM = 24
"""Permutations of axes that are tried at once: those of four."""
