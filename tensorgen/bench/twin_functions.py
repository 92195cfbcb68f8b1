"""The functions and operators of nodes as JAX has them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tensorgen.operators.matrices.capacitance import NAMES as CAPACITANCE
from tensorgen.operators.references import Array

Table = dict[str, Callable[..., Array]]


def functions() -> Table:
    """Return the elementwise functions by their names."""
    import jax
    import jax.numpy as jnp
    import jax.scipy.special as special

    def number(function: Callable[..., Array]) -> Callable[..., Array]:
        return lambda *args: function(*args) * 1.0

    plain = (
        *("exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "cbrt"),
        *("sin", "cos", "tan", "sinh", "cosh", "tanh", "logaddexp", "abs", "sign"),
        *("maximum", "minimum", "fmax", "fmin", "floor", "round", "mod"),
        *("floor_divide", "hypot"),
    )
    arcs = ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")
    numpy = {"clamp": "clip", "pow": "power", **{f"a{x}": f"arc{x}" for x in arcs}}
    tests = (
        *("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
        *("logical_and", "logical_or", "logical_not"),
    )
    specials = (
        *("erf", "erfc", "ndtr", "log_ndtr", "ndtri", "digamma", "polygamma", "xlogy"),
        *("betaln", "gammainc", "betainc", "i0", "i1", "i0e", "i1e"),
    )
    logistic = ("sigmoid", "softplus", "log_sigmoid", "relu")
    return {
        **{name: getattr(jnp, name) for name in plain},
        **{name: getattr(jnp, own) for name, own in numpy.items()},
        **{name: number(getattr(jnp, name)) for name in tests},
        **{name: getattr(special, name) for name in specials},
        **{name: getattr(jax.nn, name) for name in logistic},
        **_formulas(),
        "lgamma": special.gammaln,
        "where": lambda condition, x, y: jnp.where(condition != 0, x, y),
        "step": lambda x: jnp.heaviside(x, 0.5),
        "level": lambda x: jax.lax.stop_gradient(jnp.nan_to_num(x)),
        "finite": lambda x: jnp.where(jnp.isfinite(x), x, 0),
        "gap": lambda x, y: jnp.where(x == y, 0, x - y),
        "stated_gap": lambda x, y: jnp.where(x == y, 0, x - y),
        "nonzero": lambda x: x + (x == 0),
    }


def _formulas() -> Table:
    """What JAX has no name for."""
    import jax.numpy as jnp
    import jax.scipy.special as special

    exp, log, pi = jnp.exp, jnp.log, jnp.pi

    def mills(x: Array) -> Array:
        return exp(-x * x / 2 - special.log_ndtr(x)) / jnp.sqrt(2 * pi)

    return {
        "log1mexp": lambda x: log(-jnp.expm1(x)),
        "rexpm1": lambda x: 1 / jnp.expm1(x),
        "log_icloglog": lambda x: log(-jnp.expm1(-exp(x))),
        "log_cosh": lambda x: jnp.logaddexp(x, -x) - log(2.0),
        "finite_exp": exp,
        "low_exp": exp,
        "large_exp": exp,
        "acosh1p": lambda x: jnp.arccosh(1 + x),
        "power_slope": lambda x, y: y * x ** (y - 1),
        "power_curve": lambda x, y: y * (y - 1) * x ** (y - 2),
        "xlogx": lambda x: special.xlogy(x, x),
        "one_minus_square": lambda x: (1 - x) * (1 + x),
        "atan_slope": lambda x: 1 / (1 + x * x),
        "tilt": lambda x: x / (1 + x * x),
        "csch": lambda x: 1 / jnp.sinh(x),
        "sech2": lambda x: 1 / jnp.cosh(x) ** 2,
        "sigmoid_slope": lambda x: 0.25 / jnp.cosh(x / 2) ** 2,
        "cosine": lambda x, y: x / jnp.hypot(x, y),
        "rhypot": lambda x, y: 1 / jnp.hypot(x, y),
        "inverse": lambda x: 1 / x,
        "gauss": lambda x: exp(-x * x),
        "bell": lambda x: exp(-x * x / 2),
        "inverse_mills": mills,
        "mills_fall": lambda x: mills(x) * (x + mills(x)),
        "mills_gap": lambda x: x + mills(x),
        "mills_variance": lambda x: 1 - mills(x) * (x + mills(x)),
        "ndtri_slope": lambda p: jnp.sqrt(2 * pi) * exp(special.ndtri(p) ** 2 / 2),
        "polygamma_gap": lambda n, x, y: (
            special.polygamma(n, x + y) - special.polygamma(n, x)
        ),
        "lrising": lambda x, y: special.gammaln(x + y) - special.gammaln(x),
        "log_ndtr_between": lambda x, y, z: log(special.ndtr(x) - special.ndtr(y)),
        "exprel": lambda x: jnp.expm1(x) / x,
        "log_i0": lambda x: log(special.i0e(x)) + jnp.abs(x),
        "bessel_ratio": lambda x: special.i1e(x) / special.i0e(x),
        "xlog_ratio": lambda x, y: special.xlogy(x, x / y),
    }


def operators() -> Table:
    """Return the functions of whole arrays by their names."""
    import jax
    import jax.numpy as jnp
    import jax.scipy as jsp

    def as_it_is(x: Array) -> Array:
        return x

    def norm(x: Array, axes: tuple[int, ...]) -> Array:
        return jnp.sqrt(jnp.sum(x * x, axis=axes))

    def rnorm(x: Array, axes: tuple[int, ...]) -> Array:
        return 1 / norm(x, axes)

    def along(function: Callable[..., Array]) -> Callable[..., Array]:
        return lambda x, along: function(x, axis=along[0])

    def axes_of(function: Callable[..., Array]) -> Callable[..., Array]:
        return lambda x, axes: function(x, axis=axes)

    def even(function: Callable[..., Array]) -> Callable[..., Array]:
        return lambda a: function((a + jnp.swapaxes(a, -1, -2)) / 2)

    return {
        "spd": as_it_is,
        "symmetric": as_it_is,
        **dict.fromkeys(CAPACITANCE, lambda small, *others: small),
        "stop_gradient": jax.lax.stop_gradient,
        "inv": jnp.linalg.inv,
        "det": jnp.linalg.det,
        "logdet": lambda a: jnp.linalg.slogdet(a)[1],
        "cholesky": even(jnp.linalg.cholesky),
        "cholesky_inverse": lambda a: jnp.linalg.inv(a @ jnp.swapaxes(a, -1, -2)),
        "eigvalsh": even(jnp.linalg.eigvalsh),
        "svdvals": lambda a, count: jnp.linalg.svd(a, compute_uv=False),
        "pinv": jnp.linalg.pinv,
        "expm": jsp.linalg.expm,
        "reshape": lambda x, shape: jnp.reshape(x, shape),
        "logsumexp": axes_of(jsp.special.logsumexp),
        "softmax": axes_of(jax.nn.softmax),
        "log_softmax": axes_of(jax.nn.log_softmax),
        "norm": norm,
        "rnorm": rnorm,
        "unit": lambda x, axes: x * jnp.expand_dims(rnorm(x, axes), axes),
        "any": lambda x, axes: jnp.any(x != 0, axis=axes) * 1.0,
        "max": axes_of(jnp.max),
        "min": axes_of(jnp.min),
        "supremum": axes_of(partial(jnp.max, initial=-jnp.inf)),
        "prod": axes_of(jnp.prod),
        "median": axes_of(jnp.median),
        "argsort": along(jnp.argsort),
        "running_product": lambda x: jnp.cumprod(x, axis=0),
        "running_max": along(jax.lax.cummax),
        "running_min": along(jax.lax.cummin),
        "running_logsumexp": along(jax.lax.cumlogsumexp),
    }
