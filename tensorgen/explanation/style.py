"""How pages of formulas look: light or dark as the system has it, wide or narrow."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fdfdfb; --card: #fff;
  --line: #d8d8d2; --soft: #666; --lit: #ffe08a; --bar: #5b8def; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e2; --paper: #16181b;
  --card: #1e2125; --line: #383c42; --soft: #a0a4a8; --lit: #6b5200; --bar: #6f9cf2; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 90rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, sans-serif; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem; } nav a { color: inherit; }
section { margin: 1.5rem 0; padding: 1rem; border: 1px solid var(--line);
  border-radius: 8px; background: var(--card); }
h2 { margin: 0; } h3 { margin: 1.2rem 0 .3rem; font-size: 1rem; color: var(--soft); }
.both { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr);
  gap: 0 2rem; }
@media (max-width: 60rem) { .both { grid-template-columns: minmax(0, 1fr);
  row-gap: 1.2rem; } }
.both > div > h3:first-child { margin-top: 0; }
.wide, pre { overflow-x: auto; }
pre { margin: 0; font: 14px/1.5 ui-monospace, monospace; }
math { font-size: 1.1rem; font-family: "Latin Modern Math", "STIX Two Math",
  "Cambria Math", "DejaVu Math TeX Gyre", math, serif; }
math[display="block"] { width: max-content; margin: 0; }
.eq { padding: .3rem 0; } .eq small { color: var(--soft); }
td { padding: 0 1rem 0 0; text-align: right; } td:first-child { text-align: left; }
svg { max-width: none; } svg path { fill: none; stroke: var(--soft); }
svg text { font: 13px ui-monospace, monospace; text-anchor: middle; fill: #1c1c1c; }
svg text.at { font-size: 11px; fill: var(--soft); paint-order: stroke;
  stroke: var(--card); stroke-width: 4px; }
svg rect { stroke: #555; }
""".strip()
"""Of a page, and of the sections on it, one a function."""


def lights(count: int) -> str:
    """What lights up while one points at a part."""
    rule = "section:has(.p{0}:hover) :is(.p{0}, .s{0}) {{ background: var(--lit); }}"
    shape = "section:has(.p{0}:hover) g.p{0} rect {{ fill: #ffc933; stroke-width: 3; }}"
    return "\n".join(x.format(k) for k in range(count) for x in (rule, shape))
