"""The version, which the headers of generated files name."""

__version__ = "0.1.0"
