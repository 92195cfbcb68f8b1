"""Specs that a law changes, of each law one; and those that other tests need beside.

Most are small textbook functions. `benchmarks/ablation.py` takes those of laws that
fire in no other of its specs.
"""

from __future__ import annotations

from pathlib import Path

from tests.passes.order.walks import WALK
from tests.structure.small_blocks import BARS, DOSES

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

LIKELIHOOD = """
inputs: {K: {shape: [n, n], spd: true}, y: [n]}
functions: {f: {expr: 'y @ solve(K, y) + logdet(K)', wrt: K, emit: [value, gradient]}}
"""
KEYED = """
inputs: {w: [k - 1], v: [m], key: {shape: [m], index: k}}
functions:
  f:
    where: all = concatenate([w, [0]])
    expr: sum(exp(all[key[i]]*v[i]), i)
    wrt: w
    emit: [gradient]
"""
GRAM = """
inputs: {X: [n, m], y: [n]}
functions:
  f:
    expr: sum((X @ X.T)**3) + y @ y
    wrt: X
    emit: [gradient, hvp, hessian]
"""
CALLED = """
dims: {T: 100}
inputs: {u0: [2], p: [4], h: scalar}
definitions: {rate(x): '[p[0]*x[0] - p[1]*x[0]*x[1], p[2]*x[0]*x[1] - p[3]*x[1]]'}
functions:
  f:
    where: |
      u[0] = u0
      u[t=range(1, T)] = u[t - 1] + h*rate(u[t - 1] + h/2*rate(u[t - 1]))
    expr: sum(u**2)
    wrt: p
    emit: [value, gradient]
"""
TUNED = """
dims: {m: 50, n: 10, k: 30}
inputs: {X: [m, n], y: [m], Z: [k, n], z: [k], lam: scalar}
definitions: w = solve(X.T @ X + exp(lam)*eye(n), X.T @ y)
functions: {f: {expr: norm(Z @ w - z)**2, wrt: lam, emit: [hessian]}}
"""
SPREAD = """
inputs: {a: [m], b: [m], c: [n], d: [m], e: [m]}
functions:
  f:
    expr: sum(sin(d[i]*(b[i]*c[j] + e[i]) + a[i]), i, j)
    emit: [value]
"""
DOSE = """
inputs: {x: [n], y: [n]}
functions: {f: {expr: sum(y*log(1 - exp(-x))), wrt: x, emit: [gradient]}}
"""
RISKS = """
dims: {n: 2000, p: 20}
inputs: {X: [n, p], b: [p]}
functions:
  f:
    where: |
      eta = X @ b
    expr: sum(logsumexp(eta[j], j=range(i + 1)), i)
    wrt: b
    emit: [hessian]
"""
SHEET = """
inputs: {x: [t, 2, 2], B: [t, 2, 2], area: [t]}
functions:
  f:
    where: |
      F[e, i, j] = sum(x[e, a, i] * B[e, a, j], a)
      J[e] = F[e, 0, 0] * F[e, 1, 1] - F[e, 0, 1] * F[e, 1, 0]
    expr: area @ log(J)**2
    wrt: x
    emit: [hessian]
"""
FIELD = """
dims: {n: 128, m: 128}
inputs: {phi: [n, m], h: [n, m], eps: scalar, dx: scalar}
functions:
  F:
    where: |
      gx = (roll(phi, -1, axis=0) - phi)/dx
      gy = (roll(phi, -1, axis=1) - phi)/dx
      W = (1 - phi**2)**2/4
    expr: dx**2*sum(eps**2/2*(gx**2 + gy**2) + W - h*phi)
    wrt: phi
    emit: [value, gradient, hessian, hvp]
  rate: -grad(F, phi)/dx**2
"""
LAPLACE = """
dims: {n: 60, d: 2}
inputs:
  X: [n, d]
  y: {shape: [n], doc: "-1 or 1"}
  ell: scalar
  sf: scalar
definitions: |
  K[i, j] = sf**2*exp(-sum((X[i, k] - X[j, k])**2, k)/(2*ell**2)) + 1e-6*delta(i, j)
unknowns:
  f:
    shape: [n]
    minimises: sum(log(1 + exp(-y*f))) + f @ solve(spd(K), f)/2
functions:
  nlml:
    where: |
      S = spd(K)
      W = sigmoid(f)*sigmoid(-f)
      B = eye(n) + outer(sqrt(W), sqrt(W))*S
    expr: sum(log(1 + exp(-y*f))) + f @ solve(S, f)/2 + logdet(spd(B))/2
    wrt: [ell, sf]
"""
SUMS = """
inputs: {x: [n], y: [n], z: [n], w: [n]}
functions: {f: {expr: sum(sin(x*y + y*z - z)) + sum(cos(x*y + y*z - z + w*x)), wrt: x}}
"""
GAMMA = """
inputs: {b: [p], s: scalar, X: [n, p], y: {shape: [n], positive: true}}
functions:
  f:
    where: |
      k = exp(s)
      mu = exp(X @ b)
    expr: -sum(k*log(k) - k*log(mu) - lgamma(k) + (k - 1)*log(y) - k*y/mu)
    wrt: [b, s]
    emit: [value, gradient, hessian]
"""
STEPS = """
inputs: {A: [n, n], B: [n, k], u: [T, k], x: [n]}
functions:
  f:
    where: |
      s[0] = x
      s[t + 1] = tanh(A @ s[t] + B @ u[t])
    expr: sum(s)
    wrt: x
    emit: [value, gradient]
"""
PROMISED = """
inputs: {A: [n, r], s: [n], x: [n]}
functions:
  f:
    doc: A normal distribution, by its precision.
    where: {P: {spd: diag(s) + A @ A.T}}
    expr: (x @ P @ x - logdet(P))/2
    wrt: x
    emit: [value, gradient, hessian]
"""
WINDOWS = """
dims: {n: 10_000, m: 50}
inputs: {x: [n], w: [m]}
functions:
  f:
    doc: A layer that convolves.
    where: y[i] = sum(w[k]*tanh(x[i + k]), k)
    expr: sum(y**2)
    wrt: x
"""
DIAGONAL = """
inputs: {A: [n, n], B: [n, n], x: [n]}
functions: {f: 'sum(exp(A @ B)[i, i] * x[i], i)'}
"""
HESSIAN = """
inputs: {x: [n], A: [n, n], b: [n]}
functions: {f: {expr: sin(x @ A @ x) * (b @ x), wrt: x, emit: [hessian]}}
"""
MASKED = """
inputs: {A: [n, n], B: [n, n]}
functions:
  f:
    where: C[i, k] = sum(where(i != j, A[i, j]*B[j, k], 0), j)
    expr: C
    emit: [value]
"""
GRID = """
inputs: {v: [n], a: {shape: [m], index: n}, b: {shape: [m], index: n}, g: [m], p: [n]}
functions:
  f:
    where: |
      y = g*v[a]**2 - v[a]*v[b]
      z = g*v[b]**2 + v[a]*v[b]*sin(v[a] - v[b])
      P[i] = sum(y[l], l, a[l] == i) + sum(z[l], l, b[l] == i)
    expr: sum((P - p)**2)
    wrt: v
    emit: [gradient]
"""
SEPARABLE = """
inputs: {x: [n], b: [n]}
functions: {f: {expr: b @ sin(x), wrt: x, emit: [hessian]}}
"""
STEADY = """
dims: {m: 1000, n: 10}
inputs: {A: [m, n], B: [m, n], w: [n]}
functions: {f: {expr: sum(sin(B.T @ (A @ w))), wrt: w, emit: [problem]}}
"""
LOGISTIC = """
dims: {m: 1000, n: 10}
inputs: {X: [m, n], y: [m], w: [n]}
functions: {f: {expr: 'sum(log(1 + exp(-y * (X @ w))))', wrt: w, emit: [problem]}}
"""
TURNED = """
inputs: {A: [m, n], v: [n]}
functions: {f: '(A - v) @ exp(A.T - v[:, None])'}
"""
REPEATED = """
inputs: {A: [n, n], x: [n], a: [n], b: [n]}
functions: {f: (a @ A @ x) * (b @ A @ x)}
"""
SCALED_TWICE = """
dims: {m: 100, n: 100, p: 100}
inputs: {A: [m, n], B: [n, p], c: [p]}
functions: {f: {expr: '(A @ B) @ c + sum((A @ (B * c))**2, axis=1)'}}
"""
INPUTS = """
dims: {n: 50, s: 10}
inputs: {U: [n, n], V: [n, n], W: [n, n], T: [n, n], X: [n, s]}
functions:
  f:
    expr: sum(logsumexp(T @ tanh(W @ tanh(V @ tanh(U @ X))), axis=0))
    wrt: U
    emit: [hessian]
"""
ENTRIES = """
inputs: {A: {shape: [m, n], sparse: true}}
functions: {f: {expr: A.T @ A}}
"""
CHAIN = """
inputs: {d: [n], y: [n]}
functions:
  f:
    where: T = diag(d) + diag(ones(n - 1), 1) + diag(ones(n - 1), -1)
    expr: y @ solve(T, y) + logdet(T)
    wrt: y
    emit: [value, gradient]
"""
ARMA = """
inputs: {phi: scalar, theta: scalar, y: [n]}
functions:
  f:
    where: |
      A = eye(n) - phi*diag(ones(n - 1), -1)
      M = eye(n) + theta*diag(ones(n - 1), -1)
      e = solve(M, A @ y)
    expr: e @ e
    wrt: [phi, theta]
    emit: [gradient]
"""
MESH = """
inputs:
  y: [n]
  x: [m]
  rho: [n]
  a: {shape: [m], index: n}
  b: {shape: [m], index: n}
functions:
  f:
    where: |
      D[e, i] = delta(i, a[e]) - delta(i, b[e])
      K[i, j] = rho[i]*delta(i, j) + sum(x[e]*D[e, i]*D[e, j], e)
    expr: y @ solve(K, y) + logdet(K)
    wrt: x
    emit: [gradient]
"""
SOFTPLUS = """
inputs: {t: [n]}
functions: {f: {expr: 'sum(log(1 + exp(t)))', wrt: t, emit: [value, gradient]}}
"""
SLOPES = "inputs: {t: [n]}\nfunctions: {f: 'sigmoid(t) * sigmoid(-t)'}\n"
SIGNS = "inputs: {x: [n]}\nfunctions: {f: {expr: 'sum(expm1(-(x - 2)))', wrt: x}}\n"
HUBER = """
dims: {m: 100_000, n: 10}
inputs: {X: [m, n], y: [m], b: [n], c: {shape: scalar, positive: true}}
functions:
  f:
    doc: Huber's loss of residuals.
    where: r = y - X @ b
    expr: sum(where(abs(r) <= c, r**2/2, c*abs(r) - c**2/2))
    wrt: b
"""
CLIPPED = """
dims: {m: 100_000, n: 10}
inputs: {X: [m, n], y: [m], b: [n], c: {shape: scalar, positive: true}}
functions:
  f:
    doc: Huber's loss by the residuals that are clipped.
    where: |
      r = y - X @ b
      t = clip(r, -c, c)
    expr: sum(t*(r - t/2))
    wrt: b
"""
WEIGHTED = """
inputs: {X: [m, n], p: {shape: [m], positive: true}}
functions: {f: {expr: '3 * X.T @ diag(p) @ X'}}
"""
SHIFTED = """
inputs: {A: [m, n], u: [m], v: [m]}
functions: {f: {expr: 'exp(A + u[:, None] + v[:, None])'}}
"""
DISTANCES = """
inputs: {X: [m, d], Y: [n, d], W: [m, n]}
functions: {f: {expr: "sum(W[i, j]*exp(-sum((X[i, k] - Y[j, k])**2, k)), i, j)"}}
"""
PAIRS = """
inputs: {x: [n, 3]}
functions:
  f:
    where: |
      r[i, j] = 1 / sum((x[i, a] - x[j, a])**2, a)
    expr: sum(r[i, j]**6 - r[i, j]**3, i, j, i < j)
    wrt: x
    emit: [value, gradient]
"""
RAVELED = """
inputs: {a: [n], B: [m, n]}
functions:
  f: {expr: "a**tanh(sum(ravel(B.T)[1:]*ravel(B.T)[:-1]))", wrt: B, emit: [jacobian]}
"""
COLUMNS = """
inputs: {A: [n, m]}
functions:
  f:
    where: g = log_softmax(outer(A[:, -1], A[:, 0]), axis=0)
    expr: sum(g[i, i + 1]*A[i, 0]*A[i + 1, 0], i, i > 0)
    wrt: A
    emit: [hessian]
"""
LINKED = """
inputs: {v: [n], a: {shape: [m], index: n}, b: {shape: [m], index: n}, g: [m]}
functions: {f: {expr: "sum((g*v[a]**2 - v[a]*v[b])**2)", wrt: v, emit: [gradient]}}
"""
STACK = """
inputs: {X: [b, t, n], W: [n, n]}
functions: {f: {expr: sum(X*tanh(X @ W)), wrt: W, emit: [gradient]}}
"""
LARGE = """
dims: {n: 3_000_000}
inputs: {x: [n], y: [n], z: [n]}
functions: {f: {expr: sum(log(1 + exp(x*y))*tanh(z)*sin(x)), wrt: x, emit: [value]}}
"""
PENDULUM = """
inputs: {q: [2], s0: [2]}
functions:
  f:
    where: |
      s[0] = s0
      s[t=range(1, 50), :] = stack([s[t - 1, 1], -q[0]*sin(s[t - 1, 0])])
    expr: sum(s**2)
    wrt: q
    emit: [value, gradient]
"""
WEIGHTS = [f"weights_{letter}" for letter in "abcdefghij"]
LONG = f"""
inputs: {{{", ".join(f"{name}: [n]" for name in WEIGHTS)}}}
functions: {{f: {{where: s = {" + ".join(WEIGHTS)}, expr: sum(exp(s)*sin(s))}}}}
"""
PROFILE = """
dims: {n: 300, p: 5}
inputs: {y: [n], X: [n, p], theta: [p]}
functions:
  f:
    where: |
      r = y - X @ theta
      v = mean(r**2)
      z = r / v
    expr: n*log(v)/2 + sum(log(1 + z**2))
    wrt: theta
    emit: [gradient, hessian]
"""
# In the order of the tables: a law may stand in several places.
PASSES = (
    ("plan_definitions", CALLED),
    ("shorten_steps", STEPS),
    ("widen_late", WINDOWS),
    ("use_symmetry", GRAM),
    ("open_promises", PROMISED),
    ("open_divisors", PROFILE),
    ("flatten_products", HESSIAN),
    ("turn_walks", RISKS),
    ("compress", SEPARABLE),
    ("read_blocks", BARS),
    ("read_entries", DOSES),
    ("take_entries", DIAGONAL),
    ("flatten_parts", COLUMNS),
    ("use_symmetry", TUNED),
    ("measure_distances", DISTANCES),
    ("join_entries", ENTRIES),
    ("solve_by_structure", CHAIN),
    ("select_entries", MESH),
    ("apply_in_numbers", ARMA),
    ("gather_steady", STEADY),
    ("share_factors", (EXAMPLES / "total_variation.yaml").read_text("utf-8")),
    ("share_scales", (EXAMPLES / "gallery" / "transformer.yaml").read_text("utf-8")),
    ("pair_transposes", HESSIAN),
    ("scatter_sums", GRID),
    ("nest_bounds", WALK),
    ("order_contractions", LIKELIHOOD),
    ("apply_inverses", CHAIN),
    ("share_products", (EXAMPLES / "tanh_network.yaml").read_text("utf-8")),
    ("factor_pairs", (EXAMPLES / "softmax_regression.yaml").read_text("utf-8")),
    ("share_sums", SUMS),
    ("share_values", SHEET),
    ("spread_last", SPREAD),
    ("fuse_elementwise", SEPARABLE),
    ("gather_steady", LOGISTIC),
    ("use_symmetry", LIKELIHOOD),
    ("mirror_products", WEIGHTED),
    ("whole_keys", KEYED),
    ("add_narrow", SHIFTED),
    ("drop_steps", CLIPPED),
    ("select_terms", HUBER),
    ("clip_selections", HUBER),
    ("turn_signs", SIGNS),
    ("pair_slopes", SLOPES),
)
RULES = (
    ("spell_scalings", (EXAMPLES / "deep_equilibrium.yaml").read_text("utf-8")),
    ("open_products", HESSIAN),
    ("reshape_back", RAVELED),
    ("mask_factors", MASKED),
    ("distribute_products", HESSIAN),
    ("merge_sums", GAMMA),
    ("factor_sums", FIELD),
    ("separate_products", LAPLACE),
)
REWRITES = (
    ("fill_directly", PENDULUM),
    ("gather_once", LINKED),
    ("join_axes", STACK),
    ("straighten", INPUTS),
    ("divide", DOSE),
    ("quicken", LARGE),
    ("block", LARGE),
    ("bundle", SOFTPLUS),
    ("save_memory", INPUTS),
    ("break_sums", LONG),
)
