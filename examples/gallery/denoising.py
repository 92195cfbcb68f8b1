"""Noise taken out of a picture that is made of flat parts.

Each pixel meets its neighbours alone: the Hessian of total variation is a stencil, and
a product with it costs a few passes over the picture. The picture is drawn, the noise
is simulated.
"""

from typing import Any

import numpy as np
import total_variation

import tensorgen
from gallery.runs import EXAMPLES, Run

TITLE = "Denoising by total variation"
SPEC = EXAMPLES / "total_variation.yaml"
SHOWN = "loss_hess"


def run() -> Run:
    """Restore by a truncated Newton method."""
    model: Any = tensorgen.load(SPEC)
    clean, *images = total_variation.restore(model)
    before, after = (float(np.sqrt(np.mean((u - clean) ** 2))) for u in images)

    def draw(axes: Any) -> None:
        axes.imshow(np.concatenate([clean, *images], axis=1), cmap="gray")
        axes.set_axis_off()

    numbers = {
        "error of the noisy picture, root mean square": f"{before:.3f}",
        "error of the restored one": f"{after:.3f}",
    }
    return Run(numbers, draw, {"before": before, "after": after})
