"""Functions whose rows of data come in blocks, from the spec to what is emitted."""
