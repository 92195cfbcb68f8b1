"""A stand-in for the part of CuPy that follows SciPy."""
