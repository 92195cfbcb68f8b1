"""Specs of few parameters for each subject, bar or point."""

DOSES = """
tensorgen: 1
dims: {s: 20, q: 12}
inputs: {P: [s, 4], x: [s, q], y: [s, q]}
functions:
  loss:
    where: |
      bottom = P[:, 0]
      top = P[:, 1]
      act[i, j] = sigmoid(P[i, 3]*(x[i, j] - P[i, 2]))
      response[i, j] = bottom[i] + (top[i] - bottom[i])*act[i, j]
    expr: sum((response - y)**2)/2
    wrt: P
    emit: [gradient, hessian]
"""
BARS = """
tensorgen: 1
dims: {b: 120}
inputs: {u: [b, 4], rest: [b], k: [b]}
functions:
  energy:
    where: |
      dx[e] = u[e, 2] - u[e, 0]
      dy[e] = u[e, 3] - u[e, 1]
      length[e] = sqrt(dx[e]**2 + dy[e]**2)
    expr: sum(k*(length - rest)**2)/2
    wrt: u
    emit: [hessian]
"""
POINTS = """
tensorgen: 1
dims: {p: 300, c: 10, e: 2000}
inputs:
  X: [p, 3]
  R: [c, 3, 3]
  t: [c, 3]
  point: {shape: [e], index: p}
  camera: {shape: [e], index: c}
  seen: [e, 2]
functions:
  loss:
    where: |
      Y[k, a] = sum(R[camera[k], a, b]*X[point[k], b], b) + t[camera[k], a]
      u[k] = Y[k, 0]/Y[k, 2] - seen[k, 0]
      v[k] = Y[k, 1]/Y[k, 2] - seen[k, 1]
    expr: sum(u**2 + v**2)/2
    wrt: X
    emit: [hessian]
"""
