"""Source of what generated modules define for themselves, with `np` in place.

`helper_table` names every helper; the other files hold the longer ones by what they are
of.
"""
