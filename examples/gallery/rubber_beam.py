"""A beam of rubber that bends under its weight, as a mesh of triangles.

The energy of each triangle depends on its three corners, which it reads by an index
array; the Hessian stores a block an element, as finite element codes do, and `solve`
eliminates in the sparse matrix that these add up to.
"""

from typing import Any

import mesh_energy
import numpy as np

from gallery.runs import EXAMPLES, FITTED, SEEN, Run

TITLE = "Finite elements: a rubber beam"
SPEC = EXAMPLES / "mesh_energy.yaml"
SHOWN = "energy_hess"


def run() -> Run:
    """Find the equilibrium by Newton's method."""
    rest, bent = mesh_energy.main()
    mesh = mesh_energy.beam()
    arguments = mesh.arguments

    def draw(axes: Any) -> None:
        for x, color, label in ((rest, SEEN, "at rest"), (bent, FITTED, "loaded")):
            lines = axes.triplot(*x.T, arguments["tri"], color=color, linewidth=0.8)
            lines[0].set_label(label)
        axes.set(aspect="equal")

    tip = bent[-1] - rest[-1]
    pull = 1e3 * (arguments["anchor"] - bent[arguments["pin"]])
    numbers = {
        "the free end moves by": f"({tip[0]:.4f}, {tip[1]:.4f})",
        "the holds bear": f"{np.sum(pull[:, 1]):.6f}",
        "weight": f"{mesh_energy.LOAD:.6f}",
    }
    return Run(numbers, draw, {"pull": pull, "rest": rest, "bent": bent})
