"""The meaning of a random program as a JAX function."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import xlogy

from tests.programs import meaning
from tests.programs.tree import RandomProgram

Array = Any

_RENAMED = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
}
_SAME = (
    *("exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "cbrt", "sin", "cos"),
    *("tan", "sinh", "cosh", "tanh", "logaddexp", "hypot"),
    *("abs", "maximum", "minimum", "where", "sign"),
)

JAX = meaning.namespace(
    jnp,
    {
        **{name: getattr(jnp, name) for name in _SAME},
        **{name: getattr(jnp, other) for name, other in _RENAMED.items()},
        "xlogy": xlogy,
        "sigmoid": jax.nn.sigmoid,
        "softplus": jax.nn.softplus,
        "log_sigmoid": jax.nn.log_sigmoid,
        "relu": jax.nn.relu,
        "erf": jax.scipy.special.erf,
        "erfc": jax.scipy.special.erfc,
        "ndtr": jax.scipy.special.ndtr,
        "log_ndtr": jax.scipy.special.log_ndtr,
        "ndtri": jax.scipy.special.ndtri,
        "polygamma": jax.scipy.special.polygamma,
        "betaln": jax.scipy.special.betaln,
        "gammainc": jax.scipy.special.gammainc,
        "betainc": jax.scipy.special.betainc,
        "i0e": jax.scipy.special.i0e,
        "i1e": jax.scipy.special.i1e,
        "lgamma": jax.scipy.special.gammaln,
        "digamma": jax.scipy.special.digamma,
    },
    {
        "inv": jnp.linalg.inv,
        "det": jnp.linalg.det,
        "logdet": lambda a: jnp.linalg.slogdet(a)[1],
        "solve": jnp.linalg.solve,
        "cholesky": lambda a: jnp.linalg.cholesky(a, symmetrize_input=True),
        "expm": jax.scipy.linalg.expm,
        "__jacobian__": lambda function, x: jax.jacfwd(function)(x),
    },
)


def value(program: RandomProgram) -> Array:
    """The value of a program."""
    arguments = {name: jnp.asarray(a) for name, a in program.arguments.items()}
    return meaning.run(program, arguments, jnp, JAX)


def derivatives(
    program: RandomProgram, direction: dict[str, Array]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """The Jacobian by each variable, and its derivative along a direction."""

    def function(variables: dict[str, Array]) -> Array:
        arguments = {**program.arguments, **variables}
        return meaning.run(program, arguments, jnp, JAX)

    variables = {name: jnp.asarray(program.arguments[name]) for name in program.wrt}
    steps = {name: jnp.asarray(step) for name, step in direction.items()}
    first, second = jax.jvp(jax.jacrev(function), (variables,), (steps,))
    return dict(first), dict(second)
