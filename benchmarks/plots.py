"""Draw the tables of the suite: time by size, both logarithmic, a picture a set.

`python benchmarks/plots.py [NAME ...]` draws them from benchmarks/results. Where all
problems of a set have one size, a point a problem says how ours and by hand compare.
"""

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import tables
from tables import Row

RESULTS = Path(__file__).parent / "results"
COLOURS = {
    "tensorgen": "#c23b22",
    "tensorgen, dense": "#e8927c",
    "tensorgen, compressed": "#7a1f0f",
    "tensorgen, reverse": "#d9a441",
    "tensorgen, forward": "#8a6fb0",
    "by hand": "#222222",
    "by hand, in blocks": "#777777",
    "JAX": "#2a7f9e",
    "torch": "#3d9950",
    "torch.compile": "#86c98e",
    "autograd": "#9a9a9a",
    "CasADi": "#b05fa0",
    "statsmodels": "#5b6abf",
    "scikit-learn": "#b58900",
    "dsyrk alone": "#cccccc",
}
BOUNDS = "by hand", "dsyrk alone"  # what to measure against: dashed
STYLE: dict[str, Any] = {
    "svg.hashsalt": "tensorgen",
    "svg.fonttype": "none",  # text stays text
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 3,
    "figure.constrained_layout.use": True,
}
COLUMNS = 4


def draw(name: str) -> None:
    """Write the picture of a set beside its table."""
    mpl.use("svg")
    from matplotlib import pyplot

    rows = tables.read((RESULTS / f"{name}.txt").read_text(encoding="utf-8"))
    rows = [row for row in rows if row.seconds and row.threads == rows[0].threads]
    curves: dict[str, list[Row]] = {}
    for row in rows:
        curves.setdefault(row.problem, []).append(row)
    # What has several sizes is a curve.
    curves = {p: r for p, r in curves.items() if len({x.size for x in r}) > 1}
    with mpl.rc_context(STYLE):
        figure = by_size(pyplot, curves) if curves else against(pyplot, rows)
        path = RESULTS / f"{name}.svg"
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        pyplot.close(figure)


def by_size(pyplot: Any, curves: dict[str, list[Row]]) -> Any:
    """Return a figure with a panel for each problem."""
    columns = min(COLUMNS, len(curves))
    lines = -(-len(curves) // columns)
    size = (2.3 * columns, 1.9 * lines + 0.4)
    figure, axes = pyplot.subplots(lines, columns, figsize=size, squeeze=False)
    shown: dict[str, Any] = {}
    for panel, (problem, rows) in zip(axes.flat, curves.items(), strict=False):
        for contender in dict.fromkeys(row.contender for row in rows):
            mine = [row for row in rows if row.contender == contender]
            (line,) = panel.loglog(
                [row.size for row in mine],
                [1e3 * (row.seconds or 0) for row in mine],
                color=COLOURS.get(contender),
                marker="o",
                linestyle="--" if contender.startswith(BOUNDS) else "-",
                zorder=3 if contender == "tensorgen" else 2,
            )
            shown.setdefault(contender, line)
        panel.minorticks_off()
        panel.set_title(problem)
        panel.set_xlabel(rows[0].dim, labelpad=1)
    for panel in axes[:, 0]:
        panel.set_ylabel("ms")
    for panel in axes.flat[len(curves) :]:
        panel.axis("off")
    order = [name for name in COLOURS if name in shown]
    handles = [shown[name] for name in order]
    across = min(len(order), 2 * columns)
    figure.legend(handles, order, loc="outside lower center", ncols=across)
    return figure


def against(pyplot: Any, rows: list[Row]) -> Any:
    """Return a figure with a point a problem: ours over by hand and JAX."""
    figure, panel = pyplot.subplots(figsize=(4.2, 4))
    own = {row.problem: row for row in rows if row.contender == "tensorgen"}
    for contender, marker in (("by hand", "o"), ("JAX", "^")):
        mine = [r for r in rows if r.contender == contender and r.problem in own]
        panel.loglog(
            [1e3 * (row.seconds or 0) for row in mine],
            [1e3 * (own[row.problem].seconds or 0) for row in mine],
            marker,
            color=COLOURS[contender],
            label=contender,
        )
    ends = panel.get_xlim()
    panel.plot(ends, ends, color="#cccccc", zorder=0)
    panel.minorticks_off()
    panel.set(xlabel="ms by others", ylabel="ms by tensorgen")
    panel.legend()
    return figure


def main() -> None:
    """Draw the sets named, or all that have a table."""
    from sets import SETS

    known = [s.name for s in SETS if (RESULTS / f"{s.name}.txt").exists()]
    for name in sys.argv[1:] or known:
        draw(name)


if __name__ == "__main__":
    main()
