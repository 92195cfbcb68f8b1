"""The stand-in's special functions."""

from __future__ import annotations

import importlib
from typing import Any

import scipy.special

_FUNCTIONS = """
    betainc betaln digamma entr erf erfc erfcx erfinv expit gamma gammainc gammaln
    i0e i1e log_expit log_ndtr logit loggamma ndtr ndtri polygamma
    psi rgamma xlog1py xlogy zeta
"""


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS.split():
        lifted = importlib.import_module("cupy._array").lifted
        return lifted(getattr(scipy.special, name), name)
    raise AttributeError(f"module 'cupyx.scipy.special' has no attribute {name!r}")
