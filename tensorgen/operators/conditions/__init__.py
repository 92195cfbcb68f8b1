"""Where values are read, and what they are elsewhere.

`positions` says which comparisons are of places, `masks` and `narrow` read conditions
and ranges, `guards` keeps what these exclude from values and derivatives, `bounds` and
`still` say where functions are finite and where they stand still.
"""
