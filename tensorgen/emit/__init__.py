"""Rendering of lowered functions as modules, and writing them."""
