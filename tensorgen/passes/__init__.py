"""Rewrites of the graph before code is made; one a file, each pure."""
