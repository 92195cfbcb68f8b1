"""How far structure is looked for, and how much less a form must hold to be taken.

Numbers are as large as examples need, and so small that planning takes seconds.
"""

# Shares of the modelled cost: below them another form is taken.

GAIN_OF_A_FORM = 4
"""How much less another form must hold at some sizes to be emitted as well."""

GAIN_OF_ROOM = 2
"""How much less arrays must hold that others are made part of."""

ROWS_OF_A_RECURSION = 300
"""Of a Toeplitz matrix: with fewer a Cholesky factor takes less than n steps do."""

FORMS = 8
"""Of a derivative, for sizes to choose from: independent choices multiply."""

# Sizes without hints.

SMALL, LARGE = 10, 1_000_000
"""What they are taken for to see what would change."""

MOST_ENTRIES = 10**10
"""Of an argument: larger ones are in nobody's memory, and no sizes are taken so."""

UNKNOWN_SIZES = 6
"""With more of them nobody looks: the spec wants hints."""

# Factors of a product.

GROUPED_FACTORS = 6
"""In a term of a structure: every grouping (203 of them) is tried."""

SPREAD_FACTORS = 8
"""In a term made by spreading: products with longer ones would be slow."""

DEPTH_OF_PRODUCTS = 4
"""How many products deep a term of a structure is looked into."""

# Terms of a sum.

SPREAD_TERMS = 64
"""Into which a term of a structure may be spread, before those alike are added up."""

ADDED_TERMS = 256
"""Of one sum, before those alike are added up there: twelve neighbours have 144."""

TERMS_SPREAD_IN_ALL = 128
"""A sum of more terms is not looked at term by term."""

STEPS_BY_TIES = 65_000
"""To add up terms of the same ties at every sum: Runge-Kutta steps take 3,400, a
chain of order six 54,000, one of three neighbours of order four 62,000."""

STEPS_OF_A_PROOF = 2_000
"""To spread an array, so that an exchange of axes is seen to permute its terms."""

LINKED_TERMS = 8
"""Of a derivative with index arrays: more are worse than an array an element."""

TERMS_BY_TIES = 128
"""Of a tensor by ties: methods of more are too long to be written. A chain of order
six has 63, logsumexp of order five 52 and of order six 203."""

BANDS_OF_A_WINDOW = 32
"""That two axes share: each is an array of its own."""

TERMS_THAT_SHARE = 16
"""For more terms of a structure nobody looks for arrays that they could share."""

TERMS_OF_A_PATTERN = 6
"""More terms of one pattern are always one array: nobody could read them."""

ROWS_OF_A_STACK = 4
"""Of more rows of a dim's length each, the reshape is not seen as one term a row."""

# Candidates.

GROUPINGS_BUILT = 12
"""Groupings of a term that are built to see which arrays are the same."""

# Axes.

AXES_OF_A_LARGE_SUM = 3
"""Sums of so many axes may hold more than their terms are made of."""
