"""Recurrences: what is left in a loop over steps, and what is kept for later ones."""
