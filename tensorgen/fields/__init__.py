"""What nodes mean over the numbers of a field.

`evaluator.py` walks through nodes, whatever the numbers are. Who computes has a field,
which knows their arithmetic, and says how products are summed and what functions are:
`verify` in doubles, real and complex (`doubles.py`), and in many digits, `check` modulo
a prime and in doubles, `bench` in what JAX traces. The walk stands before passes,
lowering and emission, and reads nothing of theirs: no fault there can bend it.
"""
