"""What operations cost, where costs change, and how far is looked for less.

`price_table` has a row an operation: its arithmetic, what the passes take it to cost,
and what each backend takes for it. `thresholds` has the sizes from which something else
pays, and how much less it must cost; `limits` how much is tried at most. The views are
beside what they look at, and state no price of their own: `passes/cost.py` prices nodes
as they are planned, `arrays/speed.py` has the time of arrays on a backend,
`arrays/work.py` their arithmetic, `arrays/memory.py` what code holds. How plainly code
reads is no price of it (`lower/plainness.py`), nor is how long planning takes
(`ir/effort.py`).
"""
