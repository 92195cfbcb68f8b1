"""What emitted modules are made of: a walk over their syntax trees.

`escapes` says where a module holds anything that is not in the lists here. They hold
what emitted code needs to compute: nothing in them reads or writes files, starts
processes or threads, loads pickles, makes code of text, or reaches the interpreter's
own objects. A function that is new in emitted code has to be added, by somebody who
has thought about what else it can do.
"""

from __future__ import annotations

import ast
import symtable
import unicodedata
from collections.abc import Iterator


def words(text: str) -> set[str]:
    """Return the words of a text."""
    return set(text.split())


STANDARD = {
    "__future__": {"annotations"},
    "collections.abc": {"Callable", "Iterable", "Iterator", "Mapping", "Sequence"},
    "functools": {"cached_property", "lru_cache"},
    "itertools": {"accumulate"},
    "math": set[str](),
    "types": {"SimpleNamespace"},
    "typing": {"Any", "ClassVar", "Generic", "NamedTuple", "TypeAlias", "TypeVar"},
}
ARRAYS = {"numpy.typing": {"ArrayLike", "NDArray"}}
# Only where the header names them. CuPy has most of SciPy under its own name.
SCIPY = {
    "scipy": {"linalg", "special"},
    "scipy.linalg": {"expm", "lapack", "solve_toeplitz"},
    "scipy.sparse": {"csc_matrix", "csgraph", "csr_matrix", "identity"},
    "scipy.sparse.linalg": {"LinearOperator", "splu"},
}
PACKAGES = {"math", "numpy", "cupy", "cupyx", "scipy"}  # imported whole

NUMPY = words("""
    abs absolute add all angle any arange arccos arccosh arcsin arcsinh arctan
    arctan2 arctanh argsort array array_equal asarray atleast_1d atleast_2d
    bincount block broadcast_arrays broadcast_shapes broadcast_to cbrt ceil clip
    column_stack concatenate convolve copysign correlate cos cosh count_nonzero
    cross cumsum cumprod diag diag_indices diagonal diff divide divmod dot dtype
    einsum empty empty_like equal errstate exp expand_dims expm1 eye fft finfo
    flatnonzero flip
    float32 float64 floating floor fmax fmin frexp full full_like gcd greater
    greater_equal heaviside hstack hypot iinfo indices inexact inf inner int64 integer
    intp invert
    iscomplexobj isfinite isinf isnan issubdtype kron ldexp less less_equal lib
    linalg linspace log log10 log1p log2 logaddexp logical_and logical_not
    logical_or ma matmul matrix_transpose max maximum mean median min minimum moveaxis
    multiply nan ndarray ndim ndindex negative nextafter nonzero not_equal
    number ones ones_like outer pad pi power prod product promote_types quantile ravel
    ravel_multi_index real reciprocal repeat reshape result_type roll rollaxis
    rot90 round searchsorted shape sign signbit sin sinh size sort spacing split
    sqrt square squeeze stack subtract sum swapaxes take take_along_axis tan
    tanh tensordot tile trace transpose trapezoid tri tril tril_indices triu
    triu_indices true_divide uintp unique unravel_index vdot vstack where zeros
    zeros_like bool_ shares_memory may_share_memory ascontiguousarray isscalar
    generic object_ complexfloating
    """)
OF_MODULES = {
    "numpy": NUMPY,
    "cupy": NUMPY | {"ElementwiseKernel", "ReductionKernel", "broadcast", "fuse"},
    "numpy.linalg": words("""
    LinAlgError cholesky det eigh eigvalsh eigvals inv lstsq matrix_rank norm pinv qr
    slogdet solve svd
    """),
    "numpy.fft": {"irfft", "rfft"},
    "numpy.lib": {"stride_tricks"},
    # Strides reach any memory: `_windows` alone makes them, of sizes that it looks at.
    "numpy.lib.stride_tricks": {"as_strided", "sliding_window_view"},
    "numpy.ma": {"MaskedArray", "is_masked", "isMaskedArray"},
    "numpy.add": {"at", "reduce", "reduceat", "accumulate"},
    "numpy.maximum": {"at", "reduce", "reduceat", "accumulate"},
    "numpy.minimum": {"at", "reduce", "reduceat", "accumulate"},
    "numpy.multiply": {"at", "reduce", "reduceat", "accumulate"},
    "numpy.logaddexp": {"at", "reduce", "reduceat", "accumulate"},
    "cupyx": {"errstate", "rsqrt", "scatter_add"},
    "scipy": set[str](),
    "math": words("""
    ceil comb copysign cos exp fabs factorial floor frexp fsum gcd hypot inf
    isfinite isinf isnan isqrt ldexp lgamma log log1p log2 nan perm pi prod sqrt
    tau
    """),
    "scipy.special": words("""
    betainc betaln digamma erf erfc erfcx erfinv expit gamma gammainc gammaln
    i0e i1e log_ndtr logsumexp ndtr ndtri polygamma psi softmax xlogy zeta
    """),
    "scipy.linalg": {"cho_solve", "expm", "lapack", "solve_banded", "solveh_banded"},
    "scipy.linalg.lapack": words("""
    dgbtrf dgbtrs dpbtrf dpbtrs sgbtrf sgbtrs spbtrf spbtrs get_lapack_funcs
    """),
    "scipy.sparse.csgraph": {"connected_components", "reverse_cuthill_mckee"},
}
for _name in [name for name in OF_MODULES if name.startswith("numpy.")]:
    OF_MODULES["cupy" + _name.removeprefix("numpy")] = OF_MODULES[_name]
BUILTINS = words("""
    abs all any bool complex dict divmod enumerate filter float frozenset
    getattr int isinstance issubclass iter len list map max min next object pow
    property range repr reversed round set slice sorted staticmethod str sum
    super tuple type vars zip ArithmeticError AttributeError Exception
    FloatingPointError ImportError IndexError KeyError MemoryError
    NotImplemented NotImplementedError OverflowError RuntimeError StopIteration
    TypeError ValueError ZeroDivisionError __name__
    """)
# Methods and attributes of arrays and containers; a module's own come on top.
ATTRIBUTES = words("""
    T add all any append argmax argmin argsort astype at axes c_contiguous clip
    col copy count cumsum data diagonal dot dtype eps extend fill flags flat flatten
    fromkeys get
    getfield imag index indices indptr item items itemsize join keys kind mask
    max max_value maxexp mean min ndim nbytes nnz nonzero pop prod ravel real
    repeat removesuffix reshape round row searchsorted setdefault setflags shape size
    smallest_normal smallest_subnormal sort split squeeze start step stop
    strides sum sum_duplicates swapaxes
    take tiny tobytes tocoo tolist trace transpose update
    values view writeable perm_c perm_r ptr replace L U solve base name char
    newbyteorder isnative type newaxis names eigenvalues logabsdet
    """)
DUNDERS = words("""
    __array__ __array_interface__ __array_ufunc__ __cuda_array_interface__
    __class__ __deepcopy__ __dict__ __doc__ __getitem__ __getstate__ __init__
    __len__ __matmul__ __module__ __name__ __qualname__ __reduce__ __repr__
    __rmatmul__ __setattr__ __setstate__ __slots__ __new__ __all__
    """)
KERNELS = {"cp.ElementwiseKernel", "cp.ReductionKernel", "_Sums"}
# Statements and expressions that emitted code has no use for.
NEVER = (ast.Global, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)


def escapes(source: str) -> list[str]:
    """Return what in a module is not in the lists, a line each."""
    return list(_Walk(source).found())


class _Walk:
    def __init__(self, source: str) -> None:
        self.source = source
        self.tree = ast.parse(source)
        self.header = [line for line in source.split("\n")[:5] if line[:1] == "#"]
        # What the module's names for others stand for.
        self.modules: dict[str, str] = {}
        self.own = set(self._defined())

    def found(self) -> Iterator[str]:
        yield from self._hidden()
        for node in ast.walk(self.tree):
            match node:
                case ast.Import() | ast.ImportFrom():
                    yield from self._imported(node)
                case _ if isinstance(node, NEVER):
                    yield f"{node.lineno}: {type(node).__name__}"
        for node in ast.walk(self.tree):
            match node:
                case ast.Attribute():
                    yield from self._attribute(node)
                case ast.BinOp(ast.Constant(str()), ast.Mod()):
                    yield f"{node.lineno}: a text is formatted"
                case ast.Call(ast.Name("vars"), args):
                    if [type(a) for a in args] != [ast.Name] or node.keywords:
                        yield f"{node.lineno}: {ast.unparse(node)}"
                case ast.Call(ast.Name("getattr"), [value, name, *rest]):
                    if rest or not self._is_harmless(value, name):
                        yield f"{node.lineno}: {ast.unparse(node)}"
                case ast.Call(ast.Name("type"), args) if len(args) != 1:
                    yield f"{node.lineno}: {ast.unparse(node)}"
        yield from self._run_on_import()
        yield from self._builtins(symtable.symtable(self.source, "module", "exec"))

    def _hidden(self) -> Iterator[str]:
        for number, line in enumerate(self.source.split("\n"), 1):
            for character in line:
                if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
                    yield f"{number}: the character U+{ord(character):04X}"

    def _imported(self, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        where = f"{node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.modules[alias.asname or alias.name] = alias.name
                if alias.name not in PACKAGES or (
                    alias.name == "scipy" and self._lacks("scipy")
                ):
                    yield where
            return
        module = node.module or "."
        plain = module.replace("cupyx.scipy", "scipy")
        allowed = {**STANDARD, **ARRAYS, **SCIPY}.get(plain, set())
        for alias in node.names:
            self.modules[alias.asname or alias.name] = f"{plain}.{alias.name}"
            named = plain not in SCIPY or not self._lacks(f"{module}.{alias.name}")
            if alias.name not in allowed or node.level or not named:
                yield where

    def _lacks(self, path: str) -> bool:
        """Whether the header names neither what is imported nor its package."""
        header = " ".join(line.removeprefix("# ") for line in self.header)
        named = header.partition("used: ")[2].split(". ")[0]
        paths = named.rstrip(".").split(", ")
        return not any(path == p or path.startswith(p + ".") for p in paths)

    def _attribute(self, node: ast.Attribute) -> Iterator[str]:
        where = f"{node.lineno}: {ast.unparse(node)}"
        name = node.attr
        module = self._module(node.value)
        if module in OF_MODULES:
            if name not in OF_MODULES[module]:
                yield where
        elif name.startswith("__") and name.endswith("__"):
            if name not in DUNDERS:
                yield where
        elif name not in ATTRIBUTES | self.own:
            yield where

    def _is_harmless(self, value: ast.expr, name: ast.expr) -> bool:
        """Whether `getattr` reaches computations only, whatever the name becomes."""
        if self._module(value) == "scipy.linalg.lapack":
            return True  # it holds routines of LAPACK, and nothing else
        match value, name:
            case ast.Name("self"), ast.JoinedStr([ast.Constant(str(head)), *_]):
                return head.startswith("_") and not head.startswith("__")
        return False

    def _module(self, node: ast.expr) -> str | None:
        match node:
            case ast.Name(name):
                return self.modules.get(name)
            case ast.Attribute(value, name) if module := self._module(value):
                return f"{module}.{name}"
        return None

    def _defined(self) -> Iterator[str]:
        """Yield the names of what the module's own objects have."""
        for node in ast.walk(self.tree):
            match node:
                case ast.ClassDef():
                    yield from _class_names(node)
                case ast.Attribute(_, name, ast.Store()):
                    yield name
                case ast.Call(ast.Name("SimpleNamespace")):
                    yield from (k.arg for k in node.keywords if k.arg)

    def _run_on_import(self) -> Iterator[str]:
        """Yield what would be called, or done, while the module is imported."""
        for node in self.tree.body:
            match node:
                case ast.Import() | ast.ImportFrom() | ast.Expr(ast.Constant(str())):
                    continue
                case ast.FunctionDef():
                    parts: list[ast.AST] = [*node.decorator_list, node.args]
                case ast.ClassDef():
                    parts = [*node.decorator_list, *node.bases, *node.keywords]
                case ast.Assign() | ast.AnnAssign():
                    parts = [node]
                case _:
                    yield f"{node.lineno}: {type(node).__name__} in the module"
                    continue
            for part in parts:
                for inner in ast.walk(part):
                    if not isinstance(inner, ast.Call):
                        continue
                    if not (_is_type(inner) or _is_kernel(inner)):
                        yield f"{inner.lineno}: {ast.unparse(inner)} on import"

    def _builtins(self, table: symtable.SymbolTable) -> Iterator[str]:
        module = {s.get_name() for s in table.get_symbols() if _bound(s)}
        stack = [table]
        while stack:
            scope = stack.pop()
            stack += scope.get_children()
            for symbol in scope.get_symbols():
                name = symbol.get_name()
                outside = symbol.is_global() or (scope is table and not _bound(symbol))
                if outside and name not in module | BUILTINS:
                    yield f"{scope.get_lineno()}: the name {name}"


def _bound(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _class_names(node: ast.ClassDef) -> Iterator[str]:
    """Yield the names of a class's methods and fields."""
    for statement in node.body:
        match statement:
            case ast.FunctionDef(name) | ast.AnnAssign(ast.Name(name)):
                yield name
            case ast.Assign(targets):
                yield from (t.id for t in targets if isinstance(t, ast.Name))


def _is_kernel(node: ast.Call) -> bool:
    """Whether a call makes a kernel of texts, which is compiled where it is called."""
    given = [*node.args, *(k.value for k in node.keywords)]
    texts = all(
        isinstance(x, ast.Constant | ast.Name | ast.Add | ast.Load | ast.Tuple)
        for arg in given
        for x in ast.walk(arg)
        if not isinstance(x, ast.BinOp)
    )
    return ast.unparse(node.func) in KERNELS and texts


def _is_type(node: ast.Call) -> bool:
    """Whether a call makes a variable for type checkers, and nothing else."""
    return ast.unparse(node) == "TypeVar('_T')"
