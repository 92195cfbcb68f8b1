"""Modules generated while a package is built, so that no generated file is checked in.

`hatch.py` and `setuptools.py` are what those two call; both go by `[tool.tensorgen]` in
the `pyproject.toml` of the project. What is built needs NumPy alone, tensorgen is only
among `build-system.requires`.
"""
