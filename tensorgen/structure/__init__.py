"""The structure of a derivative: what is held of it, and what is done with that.

`compress` finds what to hold, `table` has the structures, `classes` the methods.
"""
