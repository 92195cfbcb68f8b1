"""Models of sixteen fields: a spec each, and the same as the field's expert writes it.

A file holds one model, to be read beside what is emitted for its spec.
"""
