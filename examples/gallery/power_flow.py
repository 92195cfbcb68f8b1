"""Where the power goes in the IEEE's grid of fourteen buses.

Active power is given at all buses but one, reactive power where nothing holds the
voltage; Newton's method finds voltages and angles from flat ones, with the sparse
Jacobian that the branches make. The data are those of a part of the American Midwest in
1962, the solution stands in the archive of the University of Washington.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve

import tensorgen
from gallery.runs import FITTED, HERE, OTHER, Array, Run

TITLE = "Power flow: the IEEE's fourteen buses"
SPEC = HERE / "power_flow.yaml"
SHOWN = "active_jac"
# Buses from, to; resistance, reactance, charging, ratio of the transformer.
BRANCHES = np.array(
    [
        [1, 2, 0.01938, 0.05917, 0.0528, 1],
        [1, 5, 0.05403, 0.22304, 0.0492, 1],
        [2, 3, 0.04699, 0.19797, 0.0438, 1],
        [2, 4, 0.05811, 0.17632, 0.0340, 1],
        [2, 5, 0.05695, 0.17388, 0.0346, 1],
        [3, 4, 0.06701, 0.17103, 0.0128, 1],
        [4, 5, 0.01335, 0.04211, 0, 1],
        [4, 7, 0, 0.20912, 0, 0.978],
        [4, 9, 0, 0.55618, 0, 0.969],
        [5, 6, 0, 0.25202, 0, 0.932],
        [6, 11, 0.09498, 0.19890, 0, 1],
        [6, 12, 0.12291, 0.25581, 0, 1],
        [6, 13, 0.06615, 0.13027, 0, 1],
        [7, 8, 0, 0.17615, 0, 1],
        [7, 9, 0, 0.11001, 0, 1],
        [9, 10, 0.03181, 0.08450, 0, 1],
        [9, 14, 0.12711, 0.27038, 0, 1],
        [10, 11, 0.08205, 0.19207, 0, 1],
        [12, 13, 0.22092, 0.19988, 0, 1],
        [13, 14, 0.17093, 0.34802, 0, 1],
    ]
)
# Active power given less taken, and reactive power taken, in MW and MVAr.
GIVEN = [0, 18.3, -94.2, -47.8, -7.6, -11.2, 0, 0, -29.5, -9, -3.5, -6.1, -13.5, -14.9]
TAKEN = [0, 12.7, 19, -3.9, 1.6, 7.5, 0, 0, 16.6, 5.8, 1.8, 1.6, 5.8, 5.0]
HELD = {0: 1.06, 1: 1.045, 2: 1.01, 5: 1.07, 7: 1.09}


def grid() -> dict[str, Any]:
    """Return the data of the spec."""
    s, t = (BRANCHES[:, k].astype(int) - 1 for k in (0, 1))
    r, x, b, tap = BRANCHES[:, 2:].T
    shunt = np.zeros(14)
    shunt[8] = 0.19
    return {"s": s, "t": t, "r": r, "x": x, "b": b, "tap": tap, "shunt": shunt}


def run() -> Run:
    """Solve by Newton's method."""
    model: Any = tensorgen.load(SPEC)
    data = grid()
    only = {key: value for key, value in data.items() if key not in ("b", "shunt")}
    v, a = np.ones(14), np.zeros(14)
    for bus, voltage in HELD.items():
        v[bus] = voltage
    angles = np.arange(1, 14)
    loose = np.array([bus for bus in range(14) if bus not in HELD])
    for _ in range(20):
        active = model.active(v, a, **only) - np.array(GIVEN) / 100
        reactive = model.reactive(v, a, **data) + np.array(TAKEN) / 100
        miss = np.concatenate([active[angles], reactive[loose]])
        if np.max(np.abs(miss)) < 1e-12:
            break
        P, Q = model.active_jac(v, a, **only), model.reactive_jac(v, a, **data)
        blocks = [
            [P.a.tocsr()[angles][:, angles], P.v.tocsr()[angles][:, loose]],
            [Q.a.tocsr()[loose][:, angles], Q.v.tocsr()[loose][:, loose]],
        ]
        step: Array = spsolve(sparse.block_array(blocks, format="csc"), miss)
        a[angles] -= step[: len(angles)]
        v[loose] -= step[len(angles) :]
    power = 100 * model.active(v, a, **only)

    def draw(axes: Any) -> None:
        places = np.arange(1, 15)
        axes.bar(places, v, color=[FITTED if k in HELD else OTHER for k in range(14)])
        axes.set(ylim=(0.98, 1.1), xticks=places, xlabel="bus (red: voltage held)")
        axes.set(ylabel="voltage")
        right = axes.twinx()
        right.plot(places, np.degrees(a), "o-", color="black", markersize=3)
        right.set(ylabel="angle [degrees]")

    numbers = {
        "power of the first bus": f"{power[0]:.2f} MW",
        "losses": f"{np.sum(power):.3f} MW",
        "lowest voltage": f"{v.min():.3f} at bus {np.argmin(v) + 1}",
        "largest angle": f"{np.degrees(a).min():.2f}° at bus {np.argmin(a) + 1}",
    }
    return Run(numbers, draw, {"v": v, "degrees": np.degrees(a), "power": power})
