"""Elementwise functions with kinks or jumps, and conditions."""

from __future__ import annotations

from math import inf

from tensorgen.operators.table import Elementwise as Row

POSITIVE = (0.2, 0.7, 1.0, 1.9, 4.5)

ROWS = (
    # Kinks; the conventions at ties are part of the language.
    Row(
        "abs",
        ("sign(x)",),
        "np.abs({0})",
        traits="even nonnegative keeps0 quick",
        doc="Absolute value; its derivative at 0 is 0.",
        ends=(inf, inf),
    ),
    Row("sign", ("0",), "np.sign({0})", traits="odd bounded quick", ends=(-1, 1)),
    Row(
        "relu",
        ("greater(x, 0)",),
        "np.maximum({0}, 0)",
        traits="nonnegative keeps0 quick",
        doc="The positive part; its derivative at 0 is 0.",
        ends=(0, inf),
    ),
    Row(
        "maximum",
        ("step(stated_gap(x, y))", "step(stated_gap(y, x))"),
        "np.maximum({0}, {1})",
        traits="quick commutes",
        word="larger",
        doc="The larger one; equals share the derivative.",
    ),
    Row(
        "minimum",
        ("step(stated_gap(y, x))", "step(stated_gap(x, y))"),
        "np.minimum({0}, {1})",
        traits="quick commutes",
        word="smaller",
        doc="The smaller one; equals share the derivative.",
    ),
    # A selection is no NaN where it does not read one.
    Row(
        "fmax",
        ("step(x - y)", "step(y - x)"),
        "np.fmax({0}, {1})",
        traits="quick internal",
        word="larger",
    ),
    Row(
        "fmin",
        ("step(y - x)", "step(x - y)"),
        "np.fmin({0}, {1})",
        traits="quick internal",
        word="smaller",
    ),
    Row(
        "clamp",
        ("step(x - y) * step(z - x)", "step(y - x)", "step(x - z)"),
        "np.clip({0}, {1}, {2})",
        traits="quick internal",
        word="clipped",
    ),
    # By its sign it takes a fifth of what `np.heaviside` does, which branches.
    Row("step", ("0",), expand="(sign(x) + 1) / 2", traits="bounded internal"),
    Row("floor", ("0",), "np.floor({0})"),
    Row(
        "round",
        ("0",),
        "np.round({0})",
        traits="odd",
        doc="The nearest integer; of two, the even one.",
    ),
    Row(
        "mod",
        ("1", "-floor_divide(x, y)"),
        "np.mod({0}, {1})",
        POSITIVE,
        safe=(1, 1),
        doc="What is left of x / y, with the sign of y: x % y.",
    ),
    Row(
        "floor_divide",
        ("0", "0"),
        "np.floor_divide({0}, {1})",
        POSITIVE,
        safe=(1, 1),
        doc="The largest integer below x / y: x // y.",
    ),
    Row(
        "hypot",
        ("cosine(x, y)", "cosine(y, x)"),
        "np.hypot({0}, {1})",
        traits="nonnegative commutes",
        doc="sqrt(x**2 + y**2); its gradient at 0 is 0.",
    ),
    # x and 1 over the hypotenuse, and 0 where that is 0: no square of a side leaves the
    # range, and the derivative is no difference of what is nearly equal.
    Row(
        "cosine",
        (
            "cosine(y, x)**2 * rhypot(x, y)",
            "-cosine(x, y) * cosine(y, x) * rhypot(x, y)",
        ),
        expand="x * inverse(hypot(x, y))",
        traits="internal",
        spelled="{0} / hypot({0}, {1})",
    ),
    Row(
        "rhypot",
        (
            "-cosine(x, y) * rhypot(x, y) * rhypot(x, y)",
            "-cosine(y, x) * rhypot(x, y) * rhypot(x, y)",
        ),
        expand="inverse(hypot(x, y))",
        traits="nonnegative commutes internal",
        spelled="1 / hypot({0}, {1})",
    ),
    # Conditions: 1 where they hold, 0 elsewhere. As factors they select.
    *(
        Row(
            name,
            ("0", "0"),
            f"{{0}} {sign} {{1}}",
            boolean=True,
            conditions=(0, 1) if sign in "&|" else (),
            word="mask",
        )
        for name, sign in (
            ("less", "<"),
            ("less_equal", "<="),
            ("greater", ">"),
            ("greater_equal", ">="),
            ("equal", "=="),
            ("not_equal", "!="),
            ("logical_and", "&"),
            ("logical_or", "|"),
        )
    ),
    Row(
        "logical_not",
        ("0",),
        "np.logical_not({0})",
        boolean=True,
        conditions=(0,),
        spelled="~{0}",
        word="mask",
    ),
    Row(
        "where",
        ("0", "x", "logical_not(x)"),
        "np.where({0}, {1}, {2})",
        conditions=(0,),
        traits="quick",
        word="selected",
        arguments=("condition", "x", "y"),
        doc="x where the condition is true, y elsewhere.",
    ),
)
