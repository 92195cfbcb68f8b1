"""Where values are read, and what they are elsewhere.

`positions` says which comparisons are of places, `masks` and `narrow` read conditions
and ranges, `read_places` says what slices and ranges of all readers leave of a value,
`guards` keeps what these exclude from values and derivatives, `bounds` and `still` say
where functions are finite and where they stand still.
"""
