"""Elementwise templates with arguments anywhere on the real line."""

from __future__ import annotations

from tests.programs.tree import ADD, ATOM, MUL, NEG, POW

# Template, how tightly its argument must bind, how tightly it binds itself.
UNARY: tuple[tuple[str, int, int], ...] = (
    ("-{0}", NEG, NEG),
    ("{0}**2", ATOM, POW),
    ("{0}**3", ATOM, POW),
    ("square({0})", 0, ATOM),
    ("bump({0})", 0, ATOM),
    ("sin({0})", 0, ATOM),
    ("cos({0})", 0, ATOM),
    ("tanh({0})", 0, ATOM),
    ("atan({0})", 0, ATOM),
    ("asinh({0})", 0, ATOM),
    ("sigmoid({0})", 0, ATOM),
    ("softplus({0})", 0, ATOM),
    ("log_sigmoid({0})", 0, ATOM),
    ("exp(-{0}**2)", ATOM, ATOM),
    ("exp(tanh({0}))", 0, ATOM),
    ("expm1(sin({0}))", 0, ATOM),
    ("sinh(tanh({0}))", 0, ATOM),
    ("cosh(sin({0}))", 0, ATOM),
    ("tan(0.5 * tanh({0}))", 0, ATOM),
    ("asin(0.5 * tanh({0}))", 0, ATOM),
    ("acos(0.5 * sin({0}))", 0, ATOM),
    ("atanh(0.5 * sin({0}))", 0, ATOM),
    ("acosh(2 + {0}**2)", ATOM, ATOM),
    ("log(1 + exp({0}))", 0, ATOM),
    ("log(1.5 + {0}**2)", ATOM, ATOM),
    ("log1p({0}**2)", ATOM, ATOM),
    ("log2(2 + {0}**2)", ATOM, ATOM),
    ("log10(3 + cos({0}))", 0, ATOM),
    ("sqrt(1 + {0}**2)", ATOM, ATOM),
    ("cbrt(2 + sin({0}))", 0, ATOM),
    ("reciprocal(2 + {0}**2)", ATOM, ATOM),
    ("1 / (1 + exp(-{0}))", NEG, MUL),
    ("(1 + {0}**2)**1.5", ATOM, POW),
    ("(2 + cos({0}))**-1.3", 0, POW),
    ("2**tanh({0})", 0, POW),
    ("{0} / (1 + {0}**2)", ATOM, MUL),
    ("sin({0}) * cos({0})", 0, MUL),
    ("erf({0})", 0, ATOM),
    ("erfc(0.5 * sin({0}))", 0, ATOM),
    ("lgamma(2 + {0}**2)", ATOM, ATOM),
    ("gelu({0})", 0, ATOM),
    ("silu({0})", 0, ATOM),
    ("mish({0})", 0, ATOM),
)

# Template, how tightly it binds, how tightly its arguments must.
BINARY: tuple[tuple[str, int, tuple[int, int]], ...] = (
    ("{0} + {1}", ADD, (ADD, MUL)),
    ("{0} - {1}", ADD, (ADD, MUL)),
    ("{0} * {1}", MUL, (MUL, NEG)),
    ("{0} * {1}", MUL, (MUL, NEG)),
    ("{0} / (2 + {1}**2)", MUL, (MUL, ATOM)),
    ("0.5 * {0} - {1}", ADD, (NEG, MUL)),
    ("{0} * {1} + {0}", ADD, (NEG, NEG)),
    ("hypot({0}, 1.5 + {1}**2)", ATOM, (0, ATOM)),
    ("atan2({0}, 2 + {1}**2)", ATOM, (0, ATOM)),
    ("logaddexp({0}, {1})", ATOM, (0, 0)),
    ("xlogy(1 + {0}**2, 2 + cos({1}))", ATOM, (ATOM, 0)),
    ("(2 + sin({0}))**tanh({1})", POW, (0, 0)),
    ("pow(2 + cos({0}), sin({1}))", ATOM, (0, 0)),
)

# Template with up to four arguments, and what must stay away from zero.
KINKS: tuple[tuple[str, str], ...] = (
    ("abs({0})", "{0}"),
    ("softsign({0})", "{0}"),
    ("elu({0})", "{0}"),
    ("leaky_relu({0}, 0.3)", "{0}"),
    ("huber({0}, 0.7)", "abs({0}) - 0.7"),
    ("relu({0})", "{0}"),
    ("maximum({0}, {1})", "{0} - {1}"),
    ("minimum({0}, {1})", "{0} - {1}"),
    ("clip({0}, -50, {1})", "{0} - {1}"),
    ("where({0} < {1}, {2}, {3})", "{0} - {1}"),
    ("where(({0} > {1}) & ({1} < 9), {2}, {0})", "{0} - {1}"),
)
