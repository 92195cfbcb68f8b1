"""The stand-in's sparse matrices: none yet."""
