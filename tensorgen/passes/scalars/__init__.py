"""Elementwise expressions: selections, polynomials of one operand, exponentials."""
