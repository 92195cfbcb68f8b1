"""Where were the cameras, and what did they see? Pictures put together to a scene.

Each sighting ties one camera to one point: the Hessian stores a small block a camera,
one a point and one a sighting, and `solve` eliminates the points first, as programs for
bundle adjustment do. Cameras and points are simulated, and the pictures have noise. The
scene may be moved and scaled as a whole, which the small shift of Newton's method takes
care of.
"""

from typing import Any

import numpy as np

import tensorgen
from gallery.runs import FITTED, HERE, OTHER, SEEN, Array, Run, newton

TITLE = "Bundle adjustment: cameras and points"
SPEC = HERE / "bundle.yaml"
SHOWN = "error_grad"
CAMERAS, POINTS, NOISE = 8, 80, 0.5


def rotations(turn: Array) -> Array:
    """Return the matrices of rotation vectors, by Rodrigues' formula."""
    angle = np.linalg.norm(turn, axis=1)[:, None, None]
    K = np.cross(np.eye(3), (turn / angle[:, 0])[:, None, :])
    # Rows are axis x unit vectors, with the sign of the transposed matrix.
    K = -K.transpose(0, 2, 1)
    found: Array = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    return found


def scene(rng: np.random.Generator) -> dict[str, Array]:
    """Return cameras on an arc around a heap of points."""
    way = np.linspace(-0.8, 0.8, CAMERAS)
    turn = np.stack([0.1 + 0 * way, way, 0.05 * rng.standard_normal(CAMERAS)], axis=1)
    shift = np.zeros((CAMERAS, 3))
    shift[:, 2] = 6
    return {"turn": turn, "shift": shift, "point": rng.uniform(-1, 1, (POINTS, 3))}


def pictures(true: dict[str, Array], rng: np.random.Generator) -> dict[str, Any]:
    """Return what each camera sees of three points in four."""
    c, q = np.nonzero(rng.random((CAMERAS, POINTS)) < 0.75)
    R = rotations(true["turn"])
    moved = np.einsum("eij,ej->ei", R[c], true["point"][q]) + true["shift"][c]
    seen = 500 * moved[:, :2] / moved[:, 2:]
    return {"c": c, "q": q, "seen": seen + NOISE * rng.standard_normal(seen.shape)}


def run() -> Run:
    """Adjust, from cameras and points that are off."""
    model: Any = tensorgen.load(SPEC)
    rng = np.random.default_rng(0)
    true = scene(rng)
    data = pictures(true, rng)
    problem = model.ErrorProblem(**data)
    guess = {name: x + 0.05 * rng.standard_normal(x.shape) for name, x in true.items()}
    start = problem.pack(**guess)
    v = newton(problem, start, small=1e-5)
    count = 2 * len(data["c"])
    rms = float(np.sqrt(2 * problem.value(v) / count))
    before = float(np.sqrt(2 * problem.value(start) / count))
    hessian = problem.hessian(v)
    held = hessian.nbytes / 8 / v.size**2

    def draw(axes: Any) -> None:
        turn, shift, point = problem.unpack(v)
        where = -np.einsum("cji,cj->ci", rotations(turn), shift)
        axes.plot(*where[:, [0, 2]].T, "^", color=OTHER, label="cameras")
        axes.plot(*guess["point"][:, [0, 2]].T, ".", color=SEEN, label="first guess")
        axes.plot(*point[:, [0, 2]].T, ".", color=FITTED, label="points")
        axes.set(aspect="equal")

    numbers = {
        "unknowns": str(v.size),
        "sightings": str(len(data["c"])),
        "error before, pixels": f"{before:.2f}",
        "error after": f"{rms:.4f}",
        "numbers that the Hessian stores": f"{held:.0%} of all",
    }
    found = {"v": v, "problem": problem, "start": start, "rms": rms, "count": count}
    return Run(numbers, draw, found | {"hessian": hessian, "data": data, "true": true})
