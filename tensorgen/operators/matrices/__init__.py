"""Matrices: inverses, factors, eigenvalues, distances, and what is known of a matrix.

`symmetry`, `definite` and `subspaces` say which matrices are what; `systems` holds
those that are known by few entries, `packing` those that are symmetric.
"""
