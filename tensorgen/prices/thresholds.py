"""Where costs change: sizes from which something else pays, and by how much it has to.

Sizes are of numbers, 8 bytes each. Gains are margins: two forms that cost about the
same do not take turns, and what reads less well is written for a gain that is felt.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from fractions import Fraction

from tensorgen.ir.dims import Dim

# Sizes of dims

UNHINTED = 1000
"""Without a hint: large, and the same for all."""
SHORT, LONG = 10, 1_000_000
"""What else a size without a hint is taken for, to see what would change."""
USUAL, FEW, MANY = 64, 16, 1024
"""At which it is compared what code holds: all usual, and each in turn few or many."""
ENTRIES_OF_A_ROW = 10
"""The entries that rows of a sparse matrix are taken to have, or columns if they are
longer, and how many times as long these are at least."""
ROWS_OF_A_TABLE = 8
"""So few need no rule: a table of all differences is small."""
ROWS_OF_A_BLOCK = 16
"""Blocks of so few may be mostly zeros."""
ENTRIES_OF_A_SMALL_BLOCK = 64
"""A block of so many is held whole rather than as what it is made of."""
ROWS_OF_A_RECURSION = 300
"""Of a Toeplitz matrix: with fewer a Cholesky factor takes less than n steps do."""

# Sizes of arrays

QUICKENED = 2**12
"""From here on a slow function is worth a longer line."""
BLOCK, BLOCK_OF_PRODUCTS = 2**14, 2**16
"""Of a block; of one that a matrix product is made of, or that adds matrices where
index arrays say, more."""
SHARE_OF_HELD = 0.25
"""Of what blocks make that is held as a whole: with more of it they gain nothing."""
BLOCKS_ASKED_FOR = 4
"""For the memory of so many blocks loops ask at once, and give it back (`_blocks`)."""
ELIDED = 2**15
"""From here on NumPy overwrites temporaries, and the system gives memory page by page:
to work in place saves more than room."""
ADDED_AT_A_TIME = 2**15
"""Of what is added by entry (`_add_at`)."""
CACHED = 2**17
"""What is larger is not held by the caches of a core."""
TAPPED = 2**19
"""That a tap adds, where blocks take 0.45 to 0.85 times as long."""
NOTED_IF_DENSE = 10**6
"""Of a dense derivative, by the hints: beyond, somebody should know."""
LARGEST_COLUMNS = 2**24
"""Of the largest matrix of windows, where sizes are expected."""
LARGEST_ARGUMENT = 10**10
"""Larger ones are in nobody's memory, and no sizes are taken so."""

# Time: how many times as much the other way takes

GAIN_OF_ORDER = 1.3
"""Of blocks, or of rows for stacks: they read less well."""
GAIN_OF_A_COPY = 2
"""How many times as long rows must be as what lies together, to be worth a copy."""
GAIN_OF_COLUMNS = 2
"""So many entries are gathered while one of a result is added to another one."""
GAIN_OF_KEEPING = 4.0
"""What a step has computed is kept for later if to compute it anew, for all steps at
once, costs so many times as much as to store it."""
CALLS_OF_A_PROBLEM = 20
"""Calls that share what is computed once: an iterative solver makes about as many."""

SHARE_OF_EXPANDED = 0.5
"""A product moves into a difference, which costs digits, only for half the cost."""
GAIN_OF_LENGTH, SHARE_OF_LENGTH = 1.05, 0.9
"""By a plan than by one of such a share of its operations."""
SHARE_OF_LAST = 0.8
"""What a plan costs of another one that is preferred to it, if it is taken."""
SHARE_OF_A_MIXTURE = 0.5
"""What a plan of which parts are another's costs of its own: parts share less then."""
SHARE_OF_ROOM = 0.9
"""What a plan costs of another one that stores less, but not half, if it is taken."""
SHARE_WITHOUT_HOPE = 3
"""Of the cheapest of ordered plans, from which on no other one goes further."""
SHARE_OF_TABLES = 2.0
"""One of three axes, which only memory gives, is left for twice the operations: matrix
products, which take its place, are several times as fast."""
SHARE_OF_FACTORED = 0.99
"""A factored form must cost less than the sum by a margin, or they would alternate."""
SHARE_OF_REUSED = 0.999999
"""A product that begins with another one must cost less by more than rounding."""

# Memory: how many times as much is held the other way

GAIN_OF_A_FORM = 4
"""Than by another form of a derivative at some sizes, which is emitted as well then."""
GAIN_OF_A_RULE = 8
"""By arrays with zeros, than by entries at places by rule."""
GAIN_OF_A_BAND = 4
"""By a band, than by its diagonals, if it reaches as many times as far."""
GAIN_OF_LOW_RANK = 2
"""By rows of a matrix, than its rank: it gains by Woodbury."""
GAIN_OF_ROOM = 2
"""By arrays that others are made part of."""
ROOM_OF_ITEMS = 2
"""By what a step computes without its states, than by the largest state or what it is
given: it is made for all steps before, if it is not more. What caches hold may be."""
ORDINARY, ORDINARY_IF_LARGE = 8, 2
"""Than by the largest array, or by what code is given and returns: less is written as
it reads best. Where caches hold less, new memory takes longer than what is computed."""
SHARE_OF_A_PEAK = Fraction(3, 4)
"""Less must be held at the usual size for code to be written for memory."""
PART_OF_A_PEAK = 16
"""Than by what is taken for large: a smaller part of a peak is not."""

TERMS_SHARED = 3, 2
"""The fewest terms of a sum of numbers, and of arrays, that another sum takes."""

# Functions of one formula, taken apart for what they share

SHARE_OF_A_WHOLE = 1.05
"""Of its own time a function may take, where it is made of what others share."""
SHARE_OF_MEMORY, SHARE_OF_FREED = 2, 1 / SHARE_OF_A_PEAK
"""Of what it holds by itself it may hold then; and if it was written for memory, no
more than that has saved."""
LINES_OF_A_FUNCTION = 2
"""What a private function takes beside its statements: its first line, and what is
told of it."""
MOST_OUTPUTS = 4
"""What returns more returns an object with names."""
LEAST_OF_A_DEFINITION, CALLS_OF_A_DEFINITION = 4, 2
"""Operations of a definition that code calls, at least, and how often a function or a
step does so, at arguments that differ."""
GAIN_OF_CALLS = 1.2
"""As much longer code may take that calls definitions: less than what code by hand does
that has the same functions."""
CALLS_SAVED = 1
"""What repeats more statements of a private function than so many calls it."""
LINES_SAVED, SHARE_OF_LINES = 3, 0.9
"""At least so many fewer lines there must be, and at most such a share of them left."""
LINES_AT_A_GLANCE = 6
"""A function of no more lines stands for itself, and is read of no other."""


def are_hinted(hints: Container[str], dims: Iterable[Dim]) -> bool:
    """Whether there are hints for all that sizes depend on."""
    return all(symbol in hints for dim in dims for symbol in dim.symbols)


def assumed(hints: Mapping[str, int], names: Iterable[str]) -> dict[str, int]:
    """The sizes of dims: hints, and for the rest what they are taken for."""
    return {name: hints.get(name, UNHINTED) for name in names}
