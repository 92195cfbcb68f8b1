"""The price of a call, its Greeks, and the volatility that a market price implies.

Delta, gamma, theta, vega and rho are written as derivatives in the spec. The implied
volatility is an unknown, given by an equation; how it follows the price is one over
vega, which the theorem of implicit functions finds by itself. The numbers are those of
the examples in Hull's textbook.
"""

from typing import Any

import numpy as np

import tensorgen
from gallery.runs import FITTED, HERE, OTHER, SEEN, Run

TITLE = "Black and Scholes: Greeks and implied volatility"
SPEC = HERE / "options.yaml"
SHOWN = "delta"
# Hull, chapter on the Greek letters; then the example of an implied volatility.
SHARE = {"strike": 50.0, "rate": 0.05, "vol": 0.2, "time": 20 / 52}
OTHER_SHARE = {"strike": 20.0, "rate": 0.1, "time": 0.25}


def run() -> Run:
    """Tell the Greeks of Hull's share."""
    model: Any = tensorgen.load(SPEC)
    spot = np.array([49.0])
    letters = {
        "price": float(model.value(spot, **SHARE)[0]),
        "delta": float(model.delta(spot, **SHARE)[0]),
        "gamma": float(model.gamma(spot, **SHARE)[0]),
        "theta, a year": float(model.theta(spot, **SHARE)),
        "vega": float(model.vega(spot, **SHARE)),
        "rho": float(model.rho(spot, **SHARE)),
    }
    implied, slope = model.volatility_value_and_grad(
        spot=np.array([21.0]), price=1.875, **OTHER_SHARE
    )

    def draw(axes: Any) -> None:
        spots = np.linspace(35, 65, 91)
        axes.plot(spots, model.value(spots, **SHARE), color=FITTED, label="price")
        axes.plot(spots, np.maximum(spots - 50, 0), color=SEEN, label="at the end")
        axes.set(xlabel="price of the share")
        right = axes.twinx()
        right.plot(spots, model.delta(spots, **SHARE), "--", color=OTHER)
        right.plot(spots, 10 * model.gamma(spots, **SHARE), ":", color=OTHER)
        right.set(ylabel="delta (dashed), ten times gamma (dotted)")

    numbers = {name: f"{x:.3f}" for name, x in letters.items()}
    numbers["implied volatility of a call that costs 1.875"] = f"{float(implied):.4f}"
    found = {"letters": letters, "implied": float(implied), "slope": float(slope)}
    return Run(numbers, draw, found | {"model": model})
