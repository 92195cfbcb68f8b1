"""Three clouds of flowers, found without a look at the species.

The means, covariances and weights of the components are fitted together, by Newton's
method with products of the Hessian and a vector. Covariances are positive definite by
their Cholesky factors, and the likelihood is a `logsumexp`. The data are Fisher's
irises.
"""

from typing import Any

import gaussian_mixture
import numpy as np

from gallery.runs import EXAMPLES, FITTED, OTHER, SEEN, Run

TITLE = "Gaussian mixture"
SPEC = EXAMPLES / "gaussian_mixture.yaml"
SHOWN = "nll_grad"


def run() -> Run:
    """Fit; see how species fall on components."""
    likelihood, counts = gaussian_mixture.main()
    X, species = gaussian_mixture.flowers()

    def draw(axes: Any) -> None:
        kinds = np.unique(species)
        for kind, color in zip(kinds, (OTHER, SEEN, FITTED), strict=True):
            own = X[species == kind]
            axes.scatter(own[:, 2], own[:, 3], s=9, color=color, label=kind)
        axes.set(xlabel="length of the petals [cm]", ylabel="their width [cm]")

    numbers = {
        "mean log-likelihood": f"{likelihood:.4f}",
        "flowers that lie in their species' component": (
            f"{np.sum(np.max(counts, axis=0))} of {len(X)}"
        ),
    }
    return Run(numbers, draw, {"likelihood": likelihood, "X": X, "counts": counts})
