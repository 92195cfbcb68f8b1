"""Draw what docs/time.md shows of the examples: `make plots` writes docs/pictures.

The files depend on nothing but the fits: no dates, and names of parts that stay.
"""

import contextlib
import io
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import tensorgen

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))

import garch  # noqa: E402
import neural_ode  # noqa: E402
import nile  # noqa: E402

STYLE: dict[str, Any] = {
    "svg.hashsalt": "tensorgen",
    "svg.fonttype": "none",  # text stays text
    "path.simplify_threshold": 1.0,
    "figure.figsize": (6.4, 2.8),
    "figure.constrained_layout.use": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 1.0,
}
SEEN, FITTED = "#9a9a9a", "#c23b22"


def draw_nile(axes: Any) -> None:
    """The flow of each year, and the level as it was known then."""
    years, y = nile.flows()
    model = tensorgen.load(ROOT / "examples" / "nile.yaml")
    level = model.level(*nile.fit(model, y), y)
    axes.plot(years, y, color=SEEN, marker=".", label="flow")
    axes.plot(years, level, color=FITTED, label="level, filtered")
    axes.set(ylabel="10⁸ m³ a year")


def draw_returns(axes: Any) -> None:
    """The returns, and twice the volatility that was expected the day before."""
    r = garch.returns()
    model = tensorgen.load(ROOT / "examples" / "garch.yaml")
    volatility = np.sqrt(model.variance(garch.fit(model, r), r)[:-1])
    # The days have no dates: from January 1981 to April 1991, spread evenly.
    years = np.linspace(1981, 1991.3, len(r))
    axes.plot(years, r, color=SEEN, linewidth=0.5, label="return")
    for sign, label in ((2, "twice the volatility"), (-2, None)):
        axes.plot(years, sign * volatility, color=FITTED, label=label)
    axes.set(ylabel="% a day", ylim=(-12, 12))


def draw_spiral(axes: Any) -> None:
    """Where the spiral is, and where the network leads."""
    seen, path = neural_ode.main()
    axes.plot(*seen.T, color=SEEN, linewidth=3, label="spiral")
    axes.plot(*path.T, color=FITTED, label="network")
    axes.set(aspect="equal")


def main() -> None:
    """Write the pictures."""
    folder = ROOT / "docs" / "pictures"
    folder.mkdir(exist_ok=True)
    mpl.use("svg")
    from matplotlib import pyplot

    for name, draw in [
        ("nile", draw_nile),
        ("returns", draw_returns),
        ("spiral", draw_spiral),
    ]:
        with mpl.rc_context(STYLE), contextlib.redirect_stdout(io.StringIO()):
            figure, axes = pyplot.subplots()
            draw(axes)
            axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
            figure.savefig(
                folder / f"{name}.svg", metadata={"Date": None, "Creator": None}
            )
            pyplot.close(figure)


if __name__ == "__main__":
    main()
