"""The exit codes of the contract, and what options may be."""

FINE, STALE, WRONG, BUG = 0, 1, 2, 3
INTERRUPTED = 130  # as shells have it

BACKENDS = ("numpy", "cupy")
MODES = ("cross-country", "reverse", "forward")
SUPPORT = ("inline", "shared")
FORMATS = ("text", "json", "github", "sarif")
SHELLS = ("bash", "zsh", "fish")
NOTATIONS = ("latex", "geno", "numpy", "matrixcalculus")
