"""Which entries of an array are read, and what is computed of these alone."""
