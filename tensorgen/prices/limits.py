"""How far is looked for what costs less: what bounds the work of planning.

What is bounded here grows with a power of a spec or faster; the numbers are as large as
examples need, and so small that planning takes seconds. The bounds on the search for an
order stand beside it, in `passes/order/search_trees.py`; steps are those of
`ir/effort.py`.
"""

# Rounds over a graph

FLATTENING_ROUNDS = 3
"""A later round sees what an earlier one has uncovered; a fourth found nothing yet."""
ENTRIES_ROUNDS = 8
"""How many operands deep what is read is moved: one a round."""

# Factors of a product

OPENED_FACTORS = 12
"""In a product seen n-ary: a few more than the search for an order takes exactly."""
SHARED_FACTORS = 64
"""In a product in which others are looked for that are made: ten layers have 40."""
STEADY_FACTORS = 6
"""Of one rate: all their subsets (57 of two and more) are priced."""
GROUPED_FACTORS = 6
"""In a term of a structure: every grouping (203 of them) is tried."""
SPREAD_FACTORS = 8
"""In a term made by spreading: products with longer ones would be slow."""
DEPTH_OF_PRODUCTS = 4
"""How many products deep a term of a structure is looked into."""

# Terms of a sum

DISTRIBUTED_TERMS, DISTRIBUTED_TERMS_IN_ALL = 64, 2000
"""Of a sum into which a product moves; over a graph, after which none does any more."""
FACTORED_TERMS = 256
"""Of a sum of pairs that are factored: each step looks at all of them again."""
SPREAD_TERMS, TERMS_SPREAD_IN_ALL = 64, 128
"""Into which a term of a structure may be spread, before those alike are added up; a
sum of more is not looked at term by term."""
ADDED_TERMS = 256
"""Of one sum, before those alike are added up there: twelve neighbours have 144."""
LINKED_TERMS = 8
"""Of a derivative with index arrays: more are worse than an array an element."""
TERMS_BY_TIES = 128
"""Of a tensor by ties: methods of more are too long to be written. A chain of order
six has 63, logsumexp of order five 52 and of order six 203."""
TERMS_THAT_SHARE = 16
"""For more terms of a structure nobody looks for arrays that they could share."""
TERMS_OF_A_PATTERN = 6
"""More terms of one pattern are always one array: nobody could read them."""
BANDS_OF_A_WINDOW = 32
"""That two axes share: each is an array of its own."""
ENTRIES_READ = 64
"""Of a small block, each apart."""
ROWS_OF_A_STACK = 4
"""Of more rows of a dim's length each, the reshape is not seen as one term a row."""

# Steps

STEPS_OF_A_PROOF = 2_000
"""To spread an array, so that an exchange of axes is seen to permute its terms."""
STEPS_TO_SHARE = 20_000
"""After which a pass that shares a little work gives up."""
STEPS_BY_TIES = 65_000
"""To add up terms of the same ties at every sum: Runge-Kutta steps take 3,400, a
chain of order six 54,000, one of three neighbours of order four 62,000."""
STEPS_TO_COMPRESS = 300_000
"""To find what to hold of a tensor, in several ways one after the other."""

# Candidates

CANDIDATES_A_SUM = 8
"""Common factors that are priced for a sum, the largest saving first."""
TRIALS_A_SUM, TRIALS_IN_ALL = 200, 600
"""Priced candidates after which each rest of a sum prices only its first; over a graph,
after which only what never costs moves outside."""
TRIALS_OF_A_MATCH = 100
"""Choices of factors that may be another product: one, where no node occurs twice."""
GROUPINGS_BUILT = 12
"""Groupings of a term that are built to see which arrays are the same."""
FORMS = 8
"""Of a derivative, for sizes to choose from: independent choices multiply."""
MOST_FACTORS = 8
"""Arrays that a form stores which is none of the first: more of them nobody reads."""
UNKNOWN_SIZES = 6
"""With more of them nobody looks: the spec wants hints."""

# Axes

PERMUTATIONS_A_SUM = 24
"""Permutations of axes that are tried at once: those of four."""
AXES_OF_A_LARGE_SUM = 3
"""Sums of so many axes may hold more than their terms are made of."""

# Statements

STATEMENTS_ORDERED, SETS_ORDERED = 200, 1000
"""Whose order and lifetimes are looked into; sets of them that are looked at for the
order with the least peak."""
