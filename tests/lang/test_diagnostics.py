"""Every diagnostic: its text, the place at which it points, and its hint."""

import pytest

from tests.lang.speak import faults, faults_of, only_fault, program, spec_of

# expression, message, marked text, a part of the hint
WRONG = [
    # Text that cannot be read.
    ("(v + w", "'(' is never closed", "(", ""),
    ("v + w)", "')' closes nothing", ")", ""),
    ("(v + w]", "']' closes nothing", "]", ""),
    ("v +", "the expression ends too early", "", ""),
    ("v w", "the expression cannot be read from here on", "v", "comma missing"),
    ("v = w", "'=' cannot be used in an expression", "=", "'==' compares"),
    (
        "v \N{MULTIPLICATION SIGN} w",
        "'\N{MULTIPLICATION SIGN}' cannot be used",
        "\xd7",
        "write *",
    ),
    ("v\N{SUPERSCRIPT TWO}", "'\xb2' cannot be used", "\xb2", "write **2"),
    ("\N{GREEK SMALL LETTER LAMDA}", "cannot be used", "\u03bb", "write lam"),
    (
        "sum(A[i, j], j=range(i, n), axis=0, i)",
        "a positional argument follows a named one",
        ")",
        "come last",
    ),
    # What Python has and the language has not.
    ("v^2", "there is no operator '^'", "^", "powers are written with **"),
    ("v // 0", "division by zero", "0", ""),
    ("v % u", "shapes do not match in '%'", "%", ""),
    ("norm(X, 2)", "largest singular value", "norm(X, 2)", "svdvals(X)[0]"),
    ("norm(X, 'nu')", "no norm of order nu", "norm(X, 'nu')", "'nuc'"),
    ("convolve(v, X)", "arrays with as many axes", "convolve(v, X)", ""),
    ("convolve(v, w, 'all')", "no mode 'all'", "convolve(v, w, 'all')", "'same'"),
    ("convolve(v, w, 'same')", "the middle of n", "convolve(v, w, 'same')", "2*k + 1"),
    ("interp(v, X, w)", "two vectors of one length", "interp(v, X, w)", ""),
    ("spline(v, v, u)", "two vectors of one length", "spline(v, v, u)", ""),
    ("svdvals(X)", "which of m and n is shorter is not known", "svdvals(X)", "[n + k"),
    ("sqrtm(X)", "'sqrtm' needs a square matrix", "sqrtm(X)", ""),
    ("toeplitz(X)", "'toeplitz' needs vectors", "toeplitz(X)", ""),
    ("block_diag(X, v)", "'block_diag' needs matrices", "block_diag(X, v)", ""),
    ("matrix_power(A, 65)", "up to 64", "matrix_power(A, 65)", "expm(t * logm(A))"),
    ("v.dot(w)", "this cannot be called", "v.dot", "write dot(v, w)"),
    ("v.sum(axis=0)", "this cannot be called", "v.sum", "write sum(v, axis=0)"),
    ("np.linalg.norm(v)", "cannot be called", "np.linalg.norm", "write norm(v)"),
    ("jnp.exp(v)", "cannot be called", "jnp.exp", "write exp(v)"),
    ("jax.vmap(v)", "cannot be called", "jax.vmap", "index notation"),
    ("A'", "' is never closed", "'", "a transpose is written A.T"),
    ("v .* w", "cannot be read from here on", ".", "without a dot"),
    ("v./w", "cannot be read from here on", ".", "without a dot"),
    ("A.^2", "cannot be read from here on", ".", "without a dot"),
    ("A \\ v", "cannot be read from here on", " ", "solve(A, b)"),
    ("eigh(A)", "unknown function 'eigh'", "eigh", "eigvecsh(A)"),
    ("np.linalg.svd(A)", "cannot be called", "np.linalg.svd", "svdvals(A)"),
    ("rfft(v)", "unknown function 'rfft'", "rfft", "x[t] * cos(2*pi*k*t/n), t)"),
    ("np.fft.ifft(v)", "cannot be called", "np.fft.ifft", "re[k] * cos(2*pi*k*t/n)"),
    ("np.apply_along_axis(v)", "cannot", "np.apply_along_axis", "index notation"),
    ("hstack(v, w)", "unknown function 'hstack'", "hstack", "([a, b]) of vectors"),
    ("searchsorted(X, v)", "looks in one vector", "searchsorted(X, v)", ""),
    ("argmax(v)", "unknown function", "argmax", "argsort(x)[-1]"),
    ("v.unsqueeze(0)", "cannot be called", "v.unsqueeze", "called expand_dims"),
    ("scan(v)", "unknown function 'scan'", "scan", "by steps under 'where'"),
    ("one_hot(v, 3)", "integers are expected here", "one_hot(v, 3)", "argsort"),
    (
        "take_along_axis(X, v)",
        "integers are expected here",
        "take_along_axis(X, v)",
        "with 'index'",
    ),
    (
        "take_along_axis(X, tri)",
        "shapes do not match",
        "take_along_axis(X, tri)",
        "but for the axis",
    ),
    ("cumprod(X)", "'cumprod' of more than one axis needs axis=", "cumprod(X)", ""),
    (
        "median(v[i], i, v[i] > 0)",
        "not chosen by conditions",
        "median(v[i], i, v[i] > 0)",
        "x[kept]",
    ),
    ("X[row, argsort(v)]", "shapes do not match in positions", "row", ""),
    ("masked_select(v, v > 0)", "unknown function", "masked_select", "x[kept]"),
    ("v[v > 0]", "'v > 0' cannot be a position", "v > 0", "kept: {shape: [k]"),
    ("v.at[row].set(0)", "cannot be called", "v.at[row].set", "index_put(v, row, 0)"),
    (
        "X.at[row, tri].add(v)",
        "this cannot be called",
        "X.at[row, tri].add",
        "write index_put(X, (row, tri), v, accumulate=True)",
    ),
    ("put(v, w, 0)", "integers are expected here", "put(v, w, 0)", "with 'index'"),
    ("index_put(v, [], 0)", "from 1 to 1 index arrays", "index_put(v, [], 0)", ""),
    (
        "put(v, row, v, 1)",
        "'accumulate' of 'put' must be True or False",
        "1",
        "it is called as put(",
    ),
    ("gather(v, w)", "unknown function", "gather", "x[index]"),
    ("scatter(v)", "unknown function", "scatter", "sum(delta(i, index[k]) * x[k], k)"),
    ("v << 2", "there is no operator '<<'", "<<", ""),
    ("v < 1 and w < 1", "'and' and 'or' cannot be used", "v < 1 and w < 1", "& and |"),
    ("not v", "'not' cannot be used in an expression", "not v", "~"),
    ("v if c else w", "'if' and 'else' cannot be used", "v if c else w", "where("),
    ("lambda: 3", "'lambda' cannot be used", "lambda: 3", "parameters"),
    ("v, w", "a row of values cannot be used", "v, w", "brackets"),
    ("(x := v)", "':=' cannot be used", "x := v", "where"),
    ("[x for x in v]", "a comprehension cannot be used", "[x for x in v]", ""),
    ("f'{v}'", "a string cannot be used", "f'{v}'", ""),
    ("'abc'", "'abc' is not a number", "'abc'", ""),
    ("True", "True is not a number", "True", "True is 1"),
    ("2j * v", "2j is not a number", "2j", ""),
    ("v in w", "'in' and 'is' cannot be used", "v in w", ""),
    ("X.shape", "there is no attribute '.shape'", "X.shape", "a dim"),
    ("X.H", "there is no attribute '.H'", "X.H", "only .T"),
    ("v.sum()", "this cannot be called", "v.sum", "write sum(v)"),
    ("np.exp(v)", "this cannot be called", "np.exp", "write exp(v)"),
    ("X.T(w)", "this cannot be called", "X.T", "no call: X.T"),
    ("1e500 * v", "this number is outside the range of float64", "1e500", ""),
    ("v * 1e" + "9" * 5000, "outside the range of float64", "1e" + "9" * 5000, ""),
    ("v * 0." + "9" * 5000, "outside the range of float64", "0." + "9" * 5000, ""),
    ("10**10**10 * v", "this power is outside the range of float64", "**", ""),
    ("v**10**10**10", "this power is outside the range of float64", "**", ""),
    ("1e200 * (1e200 * v)", "outside the range of float64", "1e200 * (1e200 * v)", ""),
    ("1 / 0", "division by zero", "0", ""),
    ("0**-1", "division by zero", "0**-1", ""),
    # Names.
    ("zz + v", "unknown name 'zz'", "zz", ""),
    ("lang + v", "unknown name 'lang'", "lang", "did you mean 'long'?"),
    ("exp", "'exp' is a function", "exp", "call it: exp(x)"),
    ("gelu", "'gelu' is a function", "gelu", "call it: gelu(x)"),
    ("sigmid(v)", "unknown function 'sigmid'", "sigmid", "did you mean 'sigmoid'?"),
    ("v(1)", "'v' is an input and takes no arguments", "v", "brackets"),
    ("n(1)", "'n' is a dim and takes no arguments", "n", ""),
    ("choleski(A)", "unknown function 'choleski'", "choleski", "'cholesky'?"),
    ("range(3) * v", "'range' is not a value", "range(3)", "sum(x[k], k=range(5))"),
    # Arguments.
    ("exp(v, w)", "'exp' takes at most 1 argument", "exp(v, w)", "exp(x)"),
    ("maximum(v)", "'maximum' needs the argument 'y'", "maximum(v)", "maximum(x, y)"),
    ("exp(v, x=w)", "'exp' is given 'x' twice", "exp(v, x=w)", ""),
    ("softmax(v, axs=0)", "'softmax' has no argument 'axs'", "axs=0", "'axis'"),
    ("sum(v, ax=0)", "'sum' has no argument 'ax'", "ax=0", "k=range(5)"),
    (
        "sum(v, axis=1)",
        "axis 1 is outside of an array with 1 axis",
        "sum(v, axis=1)",
        "",
    ),
    ("sum(X, axis=(0, 0))", "an axis is given twice", "sum(X, axis=(0, 0))", ""),
    ("sum(X, axis=c)", "'axis' of 'sum' must be an axis or several", "c", "sum(x"),
    ("sum(X, keepdims=1)", "'keepdims' of 'sum' must be True or False", "1", ""),
    ("roll(v, c)", "'shift' of 'roll' must be an integer", "c", ""),
    ("stack(v)", "'arrays' of 'stack' must be a list of arrays", "v", "stack("),
    ("einsum(v, w)", "'subscripts' of 'einsum' must be a string in quotes", "v", ""),
    ("eye(c)", "'c' is not a size", "c", "dims and integers"),
    ("zeros(-1) + v", "a size cannot be -1", "-1", ""),
    ("norm(v, 3)", "there is no norm of order 3", "norm(v, 3)", "Euclidean"),
    ("full((n, n)) + v", "'full' needs the argument 'value'", "full((n, n))", ""),
    # Shapes.
    ("X + u", "shapes do not match in '+'", "+", "u[:, None]"),
    (
        "X[:, 1:] - X",
        "shapes do not match in '-'",
        "-",
        "X[:, :-1] is without the last",
    ),
    ("X - X[1:]", "shapes do not match in '-'", "-", "X[:-1] is without the last"),
    ("X @ v + w", "shapes do not match in '+'", "+", "did you mean X @ (v + w)?"),
    ("v - X @ v", "shapes do not match in '-'", "-", ""),
    ("v * u", "shapes do not match in '*'", "*", ""),
    ("v / u", "shapes do not match in '/'", "/", ""),
    ("v ** u", "shapes do not match in '**'", "**", ""),
    ("v < u", "shapes do not match in '<'", "<", ""),
    ("(v < w) & (u < 1)", "shapes do not match in '&'", "&", ""),
    ("X @ u", "shapes do not match in '@'", "@", "left side would fit transposed"),
    ("u @ X.T", "shapes do not match in '@'", "@", "right side would fit transposed"),
    ("X @ c", "'@' needs an axis on both sides", "@", "a scalar takes *"),
    ("maximum(u, v)", "shapes do not match in 'maximum'", "maximum(u, v)", ""),
    ("inv(X)", "'inv' needs a square matrix", "inv(X)", ""),
    ("solve(A, u)", "shapes do not match in 'solve'", "solve(A, u)", ""),
    ("[v, c]", "the entries of a list must have one shape", "[v, c]", ""),
    ("stack([u, v])", "'stack' needs arrays of one shape", "stack([u, v])", ""),
    ("concatenate([v, X])", "the same number of axes", "concatenate([v, X])", ""),
    (
        "broadcast_to(v, (n, m))",
        "(n,) does not broadcast to (n, m)",
        "broadcast_to(v, (n, m))",
        "",
    ),
    (
        "reshape(X, 2*m, n)",
        "an array of m*n entries cannot have shape (2*m, n)",
        "reshape(X, 2*m, n)",
        "",
    ),
    # Conditions.
    (
        "where(v < 1 & w < 1, 1, 0)",
        "'&' needs conditions, and w is none",
        "&",
        "binds tighter",
    ),
    ("~v", "'~' needs conditions, and v is none", "~v", ""),
    # Positions.
    ("X[0, 1, 2]", "'X' has 2 axes and 3 positions are given", "X[0, 1, 2]", ""),
    ("three[3]", "'three[3]' needs 4 <= 3", "3", ""),
    ("three[-4]", "'three[-4]' needs 0 <= -1", "-4", ""),
    ("v[2:1]", "'v[2:1]' needs 2 <= 1", "2:1", ""),
    ("v[::c]", "the step of a slice must be an integer other than 0", "::c", ""),
    ("v[::2]", "the length n / 2 is not affine in the dims", "::2", "2*m"),
    ("v[1::2]", "the length (n - 1) / 2 is not affine in the dims", "1::2", "2*m"),
    (
        "v[3:0:-1]",
        "a backward slice with limits is not supported",
        "3:0:-1",
        "x[n - 1 - i]",
    ),
    ("v[c]", "'c' cannot be a position", "c", "affine form"),
    ("v[v[0]]", "'v[0]' cannot be a position", "v[0]", ""),
    ("v[c:]", "'c' cannot limit a slice", "c", "affine"),
    # Indices.
    ("v[i]", "the index 'i' is neither on the left side nor bound", "i", "sum(..., i)"),
    ("sum(v[i])", "the index 'i' is neither on the left side nor bound", "i", ""),
    ("sum(v, n)", "nothing determines the range of 'n'", "n", "axis=0"),
    ("max(v, 2)", "axis 2 is outside of an array with 1 axis", "max(v, 2)", "maximum("),
    ("sum(v[i], c, i)", "'c' is an input, so no index can have its name", "c", ""),
    ("sum(v[i], v=range(3))", "'v' is an input, so no index", "v=range(3)", ""),
    (
        "sum(sum(v[i], i) * w[i], i)",
        "the index 'i' is bound already",
        "i",
        "another name",
    ),
    (
        "sum(v[i] * u[i], i)",
        "the range of 'i' does not follow: n and m cannot be",
        "i",
        "i=range",
    ),
    (
        "sum(long[i + j], i, j)",
        "the ranges of 'i' and 'j' do not follow",
        "i",
        "j=range",
    ),
    ("sum(c, i)", "nothing determines the range of 'i'", "i", "i=range(...)"),
    ("sum(v[2*i], i)", "the range of 'i' is not affine in the dims", "i", "i=range"),
    ("sum(v[i + 1], i=range(n))", "'v[i + 1]' leaves its axis", "v[i + 1]", "a range"),
    ("sum(v[i - 1], i=range(n))", "'v[i - 1]' leaves its axis", "v[i - 1]", ""),
    ("sum(v[i], i=range(c))", "the bound 'c' is not affine", "c", ""),
    ("sum(v[i], i=range())", "a range takes a stop, or", "range()", ""),
    (
        "sum(1, i=range(j), j=range(i))",
        "the bounds of 'i' and 'j' depend",
        "i=range(j)",
        "",
    ),
    ("sum(v[i], i=3)", "'sum' has no argument 'i'", "i=3", "k=range(5)"),
    ("sum(v, v > 0)", "a condition needs an index", "v > 0", "where(...)"),
    ("sum(v[i], i, w > 0)", "a condition compares single entries", "w > 0", ""),
    ("sum(X[i, :], i, axis=0)", "'axis' and 'keepdims' do not go together", "0", ""),
    ("softmax(v[i], i)", "the index 'i' is neither", "i", ""),
    (
        "softmax(v, j)",
        "'softmax' keeps its index, so it cannot bind one",
        "j",
        "around it",
    ),
    ("delta(v, 1)", "'v' is not affine in indices and dims", "v", "where(a == b"),
    ("delta(1)", "delta takes two arguments", "delta(1)", ""),
    # Derivatives.
    ("grad(v, v)", "'grad' needs a scalar, and v has axes", "v", "jac(f, x)"),
    ("grad(c, c * 2)", "'c * 2' is not an input to differentiate by", "c * 2", ""),
    ("grad(sum(u[row]), row)", "'row' is not an input", "row", ""),
    ("grad(c)", "this is not how 'grad' is called", "grad(c)", "grad(f, x)"),
    ("hvp(v @ v, v, u)", "u must have shape (n,)", "u", ""),
    ("grad(v @ v, v[1:])", "a derivative is by an input or by one entry", "v[1:]", ""),
]


@pytest.mark.parametrize(("text", "message", "marked", "hint"), WRONG)
def test_a_fault_says_what_and_where(
    text: str, message: str, marked: str, hint: str
) -> None:
    found = only_fault(text)
    assert message in found[0]
    assert marked == found[1].rstrip("\n")
    assert hint in found[2]


@pytest.mark.parametrize(
    ("left", "text", "message", "marked"),
    [
        ("f[i]", "c", "nothing determines the range of 'i'", "i"),
        ("f[i]", "v[i - 1]", "0 is outside of the range of 'i': 1 to n", "i"),
        ("f[i]", "v[i] + sum(w[i], i)", "the index 'i' is bound already", "i"),
        ("f[i]", "v[i] * u[i]", "the range of 'i' does not follow", "i"),
    ],
)
def test_a_fault_of_the_left_side_says_what_and_where(
    left: str, text: str, message: str, marked: str
) -> None:
    found = only_fault(text, left)
    assert message in found[0]
    assert found[1] == marked


def test_both_shapes_stand_under_the_operands() -> None:
    (fault,) = faults("sum(X @ v + w)")
    assert fault.render().splitlines()[1:] == [
        "   22 |       sum(X @ v + w)",
        "      |           ~~~~~ ^ ~",
        "      |           (m,)    (n,)",
        "   hint: w has shape (n,); did you mean X @ (v + w)?",
    ]


def test_all_faults_of_an_expression_are_reported() -> None:
    found = faults("foo(v) + bar + X @ u - sum(v, axis=3)")
    assert [f.message for f in found] == [
        "unknown function 'foo'",
        "unknown name 'bar'",
        "shapes do not match in '@'",
        "axis 3 is outside of an array with 1 axis",
    ]


def test_all_faults_of_a_file_are_reported_in_order() -> None:
    text = spec_of("z + 1", where="z = X + u\nt = zz") + "  g: v + u\n  h: f * 2\n"
    assert [f.message for f in faults_of(text)] == [
        "shapes do not match in '+'",
        "unknown name 'zz'",
        "shapes do not match in '+'",
    ]


def test_a_fault_in_a_definition_shows_where_it_is_used() -> None:
    (fault,) = faults("shift(u)", macros="shift(t) = t + v")
    assert fault.span is not None
    assert fault.span.line == 20
    labels = [label for _, label in fault.marks]
    assert labels == ["(m,)", "(n,)", "'shift' is used here"]


def test_a_fault_in_the_prelude_points_at_the_spec() -> None:
    message, marked, _ = only_fault("clip(u, v, 1) + u")
    assert message == "in 'clip': shapes do not match in 'maximum'"
    assert marked == "clip(u, v, 1)"


def test_a_definition_checks_the_number_of_arguments() -> None:
    message, marked, hint = only_fault("sq(u, v)", macros="sq(t) = t**2")
    assert message == "'sq' takes 1 argument, not 2"
    assert marked == "sq(u, v)"
    assert hint == "it is defined as sq(t)"


def test_names_that_need_themselves_are_named_as_a_cycle() -> None:
    text = spec_of("g + 1") + "  g: h * 2\n  h: f\n  ok: v\n"
    (fault,) = faults_of(text)
    assert fault.message == "'f' is defined by itself: f -> g -> h -> f"
    (fault,) = faults("a(v)", macros="a(t) = b(t)\nb(t) = a(t) + 1")
    assert fault.message == "'a' is defined by itself: a -> b -> a"


def test_derivatives_that_only_scalars_have_are_refused_for_others() -> None:
    text = spec_of("v**2") + "    wrt: v\n    emit: [value, gradient, hessian, hvp]\n"
    assert [f.message for f in faults_of(text)] == [
        "'gradient' is for scalars, and 'f' has shape (n,)",
        "'hessian' is for scalars, and 'f' has shape (n,)",
        "'hvp' is for scalars, and 'f' has shape (n,)",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "(" * 300 + "v" + ")" * 300,
        "exp(" * 90 + "v" + ")" * 90,
        "-" * 5000 + "v",
        "v" + ".T" * 5000,
        "**".join(["v"] * 3000),
        "+".join(["v"] * 20_000),
        "9" * 5000,
        "v + " * 30_000 + "v",
    ],
)
def test_what_is_nested_too_deeply_is_a_fault_and_no_crash(text: str) -> None:
    message, _, _ = only_fault(text)
    assert "deeply" in message or "long" in message


def test_definitions_that_call_each_other_stay_fast_and_bounded() -> None:
    chain = [f"d{i}(t) = d{i - 1}(t) + d{i - 1}(t)" for i in range(1, 30)]
    program(spec_of("d29(v)", macros="\n".join(["d0(t) = t", *chain])))
    chain = [f"d{i}(t) = d{i - 1}(t) + d{i - 1}(t)" for i in range(1, 200)]
    found = faults("d199(v)", macros="\n".join(["d0(t) = t", *chain]))
    assert {f.message for f in found} == {"the expression is nested too deeply"}
    assert [len(f.marks) for f in found] == [3, 3]


def test_names_in_reverse_order_are_no_burden() -> None:
    functions = "".join(f"  f{i}: f{i + 1} + 1\n" for i in range(500))
    program(spec_of("f0") + functions + "  f500: v\n")


def test_a_fault_on_a_later_line_is_found_there() -> None:
    (fault,) = faults("(v\n + foo)")
    assert fault.span is not None
    assert fault.span.line == 23
