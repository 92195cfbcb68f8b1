"""The structure of a derivative: what is held of it, and what is done with that.

`compress` finds what to hold, `structures` has a row for each, `classes` the methods.
"""
