"""The tables of functions: one row each, from which every stage reads."""
