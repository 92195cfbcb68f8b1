"""How strong are football teams, and what is it worth to play at home?

Games are the edges of a graph, and the Hessian is the Laplacian of who met whom, beside
a border for the home advantage. The data are the 306 games of the Bundesliga's season
2008, without those that nobody won (`vcd::Bundesliga`).
"""

from typing import Any

import numpy as np

import tensorgen
from gallery.runs import FITTED, HERE, Array, Run, newton, packaged, table

TITLE = "Bradley and Terry: football teams"
SPEC = HERE / "football.yaml"
SHOWN = "nll_hess"
SEASON = "2008"


def games() -> tuple[list[str], Any, Any, Array]:
    """Return the teams, who was host and who guest, and whether the host won."""
    table = [*zip(*packaged("vcd/Bundesliga").values(), strict=True)]
    rows = [row for row in table if row[6] == SEASON and row[3] != row[4]]
    teams = sorted({row[1] for row in rows})
    host, guest = (np.array([teams.index(row[k]) for row in rows]) for k in (1, 2))
    return teams, host, guest, np.array([float(int(r[3]) > int(r[4])) for r in rows])


def run() -> Run:
    """Fit by Newton's method."""
    model: Any = tensorgen.load(SPEC)
    teams, host, guest, won = games()
    problem = model.NllProblem(host=host, guest=guest, won=won)
    v = newton(problem, problem.pack(strength=np.zeros(len(teams)), home=0.0))
    strength, home = problem.unpack(v)
    order = np.argsort(strength)

    def draw(axes: Any) -> None:
        places = np.arange(len(teams))
        axes.barh(places, strength[order], color=FITTED)
        axes.set(yticks=places, yticklabels=[teams[k] for k in order])
        axes.tick_params(axis="y", labelsize=6)
        axes.set(xlabel="strength, log odds")

    best = {teams[k]: strength[k] for k in order[:-4:-1]}
    numbers = {
        "games with a winner": f"{len(won)}",
        "log-likelihood": f"{-float(problem.value(v)):.4f}",
        "playing at home, log odds": f"{float(home):.4f}",
    }
    numbers |= table([*best], [*best.values()])
    return Run(numbers, draw, {"strength": strength, "home": float(home)})
