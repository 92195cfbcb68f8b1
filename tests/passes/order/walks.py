"""Functions of running sums."""

WALK = """
dims: {n: 500}
inputs: {q: [n], a: [n]}
functions:
  f: {expr: sum(a*cos(cumsum(q))), wrt: q, emit: [value, gradient, hessian]}
"""
