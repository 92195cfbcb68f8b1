"""Running reductions, reductions by key, and the places of sorted entries.

`monoids` says what all of them repeat, and what that is of no entries.
`running` and `triangles` go along an axis, `keys` and `by_key` over entries of one key;
`ranks`, `places` and `intervals` turn comparisons into places in an order.
"""
