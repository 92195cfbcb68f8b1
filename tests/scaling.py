"""Families of specs that grow with a number, to see how work grows with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence


def spec(
    inputs: str,
    expression: str,
    wrt: str | None = None,
    emit: str = "[value, gradient]",
    where: Sequence[str] = (),
    definitions: Sequence[str] = (),
) -> str:
    """Return a spec of one function `f`."""
    lines = ["tensorgen: 1", "module: m", f"inputs: {{{inputs}}}"]
    if definitions:
        lines += ["definitions: |", *(f"  {line}" for line in definitions)]
    lines += ["functions:", "  f:"]
    if where:
        lines += ["    where: |", *(f"      {line}" for line in where)]
    lines.append(f"    expr: '{expression}'")
    if wrt is not None:
        lines += [f"    wrt: {wrt}", f"    emit: {emit}"]
    return "\n".join(lines) + "\n"


def many(count: int, shape: str) -> str:
    """Return `count` inputs `a0, a1, ...` of one shape."""
    return ", ".join(f"a{i}: {shape}" for i in range(count))


def names(count: int) -> list[str]:
    """Return the names of `many` inputs."""
    return [f"a{i}" for i in range(count)]


def nested(count: int, start: str, wrap: Callable[[str, int], str]) -> str:
    """Return a text wrapped `count` times."""
    text = start
    for i in range(count):
        text = wrap(text, i)
    return text


def summed(parts: Iterable[str], sign: str = " + ") -> str:
    """Return the sum of all entries of terms or factors."""
    return f"sum({sign.join(parts)})"


def functions(lines: Iterable[str]) -> str:
    """Return a spec of several functions of one vector `x`."""
    head = "tensorgen: 1\nmodule: m\ninputs: {x: [n]}\nfunctions:\n"
    return head + "".join(f"  {line}\n" for line in lines)


def network(depth: int, emit: str) -> str:
    """Return a network of square layers and a loss."""
    layers = ["h0 = x"] + [f"h{i + 1} = tanh(a{i} @ h{i})" for i in range(depth)]
    inputs = many(depth, "[n, n]") + ", x: [n]"
    wrt = f"[{', '.join(names(depth))}]"
    return spec(inputs, f"sum(h{depth}**2)", wrt, emit, layers)


def pendulum(steps: int) -> str:
    """Return an integration of an ordinary differential equation, step by step."""
    step = "s{0} + 0.1*stack([s{0}[1], -sin(s{0}[0])])"
    where = ["s0 = x"] + [f"s{i + 1} = {step.format(i)}" for i in range(steps)]
    return spec("x: [2]", f"sum(s{steps}**2)", "x", where=where)


FAMILIES: dict[str, tuple[int, int, Callable[[int], str]]] = {
    # What grows: from which number, with which power of it, and the spec.
    "matrix factors": (
        8,
        2,
        lambda k: spec(many(k, "[n, n]"), " @ ".join(names(k))),
    ),
    "derivatives of matrix factors": (
        6,
        2,
        lambda k: spec(many(k, "[n, n]"), " @ ".join(names(k)), "a0", "[jacobian]"),
    ),
    "powers of a matrix": (10, 2, lambda k: spec("A: [n, n]", " @ ".join("A" * k))),
    "vector factors": (
        40,
        1,
        lambda k: spec(many(k, "[n]"), summed(names(k), " * "), "a0"),
    ),
    "factors that are sums": (
        12,
        2,
        lambda k: spec("x: [n]", summed((f"(x + {i})" for i in range(k)), "*"), "x"),
    ),
    "entries multiplied": (
        8,
        2,
        lambda k: spec(f"x: [{k}]", "*".join(f"x[{i}]" for i in range(k)), "x"),
    ),
    "entries added": (
        40,
        1,
        lambda k: spec(f"x: [{k}]", " + ".join(f"x[{i}]**2" for i in range(k)), "x"),
    ),
    "terms": (40, 1, lambda k: spec(many(k, "[n]"), f"{summed(names(k))}**2", "a0")),
    "terms that are functions": (
        20,
        2,
        lambda k: spec("x: [n]", summed(f"tanh({i + 1}*x)" for i in range(k)), "x"),
    ),
    "a tower of functions": (
        30,
        2,
        lambda k: spec(
            "x: [n]", f"sum({nested(k, 'x', lambda t, i: f'tanh({t})')})", "x"
        ),
    ),
    "a tower of names": (
        40,
        2,
        lambda k: spec(
            "x: [n]",
            f"sum(h{k})",
            "x",
            where=["h0 = x"] + [f"h{i + 1} = tanh(h{i})" for i in range(k)],
        ),
    ),
    "names used twice": (
        20,
        1,
        lambda k: spec(
            "x: [n]",
            f"sum(h{k})",
            "x",
            where=["h0 = x"] + [f"h{i + 1} = h{i}*h{i} + x" for i in range(k)],
        ),
    ),
    "choices": (
        15,
        2,
        lambda k: spec(
            "x: [n]",
            f"sum({nested(k, 'x', lambda t, i: f'where(x > {i}, {t}, x**2)')})",
            "x",
        ),
    ),
    "conditions": (
        8,
        1,
        lambda k: spec(
            "x: [n]",
            f"sum(where({' & '.join(f'(x > {i})' for i in range(k))}, x, 0))",
            "x",
        ),
    ),
    "bounds": (
        6,
        2,
        lambda k: spec(
            "x: [n]",
            f"sum(x[i]*x[j], i, j, {', '.join(f'i + {c + 2} > j' for c in range(k))})",
            "x",
        ),
    ),
    "the largest of many": (
        10,
        1,
        lambda k: spec(
            "x: [n]",
            f"sum({nested(k, 'x', lambda t, i: f'maximum({t}, {i + 2}*x)')})",
            "x",
        ),
    ),
    "functions of a file": (
        10,
        1,
        lambda k: functions(
            f"f{i}: {{expr: sum(tanh({i + 1}*x)), wrt: x}}" for i in range(k)
        ),
    ),
    "functions of functions": (
        10,
        2,
        lambda k: functions(
            ["f0: sum(x**2)"] + [f"f{i + 1}: tanh(f{i})" for i in range(k)]
        ),
    ),
    "inputs": (
        20,
        1,
        lambda k: spec(
            many(k, "[n]"),
            " + ".join(f"sum(a{i}**2)" for i in range(k)),
            f"[{', '.join(names(k))}]",
        ),
    ),
    "a joint Hessian of inputs": (
        4,
        2,
        lambda k: spec(
            many(k, "[n]"),
            " + ".join(f"sum(a{i}**2)" for i in range(k)),
            f"[{', '.join(names(k))}]",
            "[hessian]",
        ),
    ),
    "dims": (
        15,
        2,
        lambda k: spec(
            ", ".join(f"a{i}: [n{i}]" for i in range(k)),
            " + ".join(f"sum(a{i}**2)" for i in range(k)),
            "a0",
        ),
    ),
    "axes": (
        7,
        1,
        lambda k: spec(
            f"X: [{', '.join(f'n{i}' for i in range(k))}]", "sum(X**2)", "X"
        ),
    ),
    "axes as one": (
        8,
        1,
        lambda k: spec(
            f"X: [{', '.join(f'n{i}' for i in range(k))}]", "sum(ravel(X)[1:]**2)", "X"
        ),
    ),
    "a stack": (
        12,
        2,
        lambda k: spec(
            "x: [n]",
            f"sum(stack([{', '.join(f'{i + 1}*x' for i in range(k))}])**2)",
            "x",
        ),
    ),
    "parts side by side": (
        12,
        1,
        lambda k: spec(
            "x: [n]",
            f"sum(concatenate([{', '.join(f'{i + 1}*x' for i in range(k))}])**2)",
            "x",
        ),
    ),
    "numbers in a list": (
        30,
        1,
        lambda k: spec("x: []", f"sum(x*[{', '.join(map(str, range(k)))}])", "x"),
    ),
    "slices of slices": (
        12,
        1,
        lambda k: spec("x: [n]", f"sum(x{'[1:]' * k}**2)", "x"),
    ),
    "definitions of definitions": (
        9,
        2,
        lambda k: spec(
            "x: [n]",
            f"sum(d{k}(x))",
            "x",
            definitions=["d0(t) = tanh(t)"]
            + [f"d{i + 1}(t) = 2*d{i}(t)" for i in range(k)],
        ),
    ),
    "powers of powers": (
        8,
        1,
        lambda k: spec("x: []", nested(k, "x", lambda t, i: f"({t})**3"), "x"),
    ),
    "orders": (
        4,
        2,
        lambda k: spec("x: [n]", "sum(sin(x)*x)", "x", f"[{k}]"),
    ),
    "labels of an einsum": (
        6,
        2,
        lambda k: spec(
            many(k, "[n, n]"),
            "sum("
            + "*".join(f"a{i}[i{i}, i{i + 1}]" for i in range(k))
            + ", "
            + ", ".join(f"i{i}" for i in range(k + 1))
            + ")",
            "a0",
        ),
    ),
    "index arrays of index arrays": (
        5,
        2,
        lambda k: spec(
            "x: [n], p: {shape: [n], index: n}",
            f"sum(x[{nested(k, 'p[i]', lambda t, i: f'p[{t}]')}], i)",
            "x",
        ),
    ),
    "inverses of inverses": (
        4,
        2,
        lambda k: spec(
            "A: [n, n]",
            f"trace({nested(k, 'A', lambda t, i: f'inv({t} + A)')})",
            "A",
        ),
    ),
    "layers": (6, 1, lambda k: network(k, "[value, gradient]")),
    "a joint Hessian of layers": (2, 2, lambda k: network(k, "[hessian]")),
    "steps of an equation": (5, 2, pendulum),
}
