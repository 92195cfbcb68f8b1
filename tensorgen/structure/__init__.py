"""The structure of a derivative: what is held of it, and what is done with that."""
