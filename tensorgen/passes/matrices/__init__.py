"""Matrices with structure: solved with, symmetric, or distances of rows."""
