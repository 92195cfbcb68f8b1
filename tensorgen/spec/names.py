"""Which names a spec may use, and that no two things bear the same.

A spec is untrusted text and its names become identifiers of the generated code,
so what is allowed is listed rather than what is forbidden.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Container
from dataclasses import dataclass, field

from tensorgen.errors import Faults, Text
from tensorgen.spec.yaml_nodes import shorten

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LONGEST = 60


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


# What generated modules define and import themselves. Those that start with an
# underscore need no place here: no name of a spec does.
FRAME = _names("""
    Any Array ArrayLike Callable ClassVar DTypeLike Derivative Final Generic Hessian
    Jacobian JointDerivative JointHessian LinAlgError Literal Mapping NDArray
    NamedTuple NotConverged
    Scalar Sequence SimpleNamespace TypeAlias TypeVar accumulate annotations
    cached_property cp cupy cupyx dataclass dtype expm math ndarray np numpy scipy
    special
    """)
# What they may use of Python. A fixed list: `dir(builtins)` varies with the version
# of Python, and what a spec may say must not.
_BUILTINS = _names("""
    bool classmethod dict float getattr int
    list map max min object print property range
    reversed slice staticmethod str sum super tuple vars zip
    ArithmeticError AttributeError Ellipsis Exception ImportError IndexError
    KeyError MemoryError NotImplemented NotImplementedError OverflowError
    RuntimeError TypeError ValueError ZeroDivisionError
    """)
# Of these none is used where inputs have their names.
_FAR_FROM_INPUTS = _names("""
    abs all any callable enumerate frozenset hasattr isinstance issubclass iter len next
    repr set sorted type
    """)
RESERVED = FRAME | _BUILTINS | _FAR_FROM_INPUTS | {"cls", "self"}
"""Names that would hide what generated code refers to."""
RESERVED_OF_INPUTS = RESERVED - _FAR_FROM_INPUTS
"""Those that inputs do not bear: they hide less, names of arguments."""

# What the methods of derivative classes call their attributes and what they compute.
METHOD_NAMES = _names("""
    array axes band blocks columns contract coo count dense diagonal dot dtype
    entries factorize factors fields kept lower matrix matvec nbytes operand other
    part parts result rmatvec rows self shape shift side size sizes solve structure
    tensor_shape tocsc tocsr values weight width
    """)

# What bears these names in code is numbered where that is needed. The name of a module
# is the first part of that of its file, `zip_numpy.py`.
_RENAMED = ("a definition", "an index", "a parameter", "a module")


def _reserved(what: str) -> frozenset[str]:
    if what in _RENAMED:
        return frozenset()
    return RESERVED_OF_INPUTS if what == "an input" else RESERVED


def unused(name: str, taken: Container[str]) -> str:
    """Return the name, with underscores behind it while it is taken."""
    while name in taken:
        name += "_"
    return name


def in_code(dim: str) -> str:
    """Return what code calls a dim, which would hide what methods compute: `rows_`."""
    return dim + "_" if dim.rstrip("_") in METHOD_NAMES else dim


def in_spec(symbol: str) -> str:
    """Return what the spec calls a dim of the code."""
    return symbol[:-1] if symbol.rstrip("_") in METHOD_NAMES else symbol


def check_name(text: Text, what: str, faults: Faults) -> bool:
    """Whether `text` can name `what` ("an input"); reports it where it cannot."""
    name = text.value
    fault = hint = None
    if not _NAME.fullmatch(name):
        fault = f"'{shorten(name)}' cannot be the name of {what}"
        hint = "a name is an ASCII letter, then letters, digits and underscores"
    elif keyword.iskeyword(name) and what != "a module":
        fault = f"'{name}' cannot be the name of {what}"
        hint = f"'{name}' is a keyword of Python, in which the result is written"
    elif name in _reserved(what):
        fault = f"'{name}' cannot be the name of {what}"
        hint = f"the generated code uses '{name}' itself; try '{name}_'"
    elif len(name) > _LONGEST:
        fault = f"the name of {what} is longer than {_LONGEST} characters"
    if fault is None:
        return True
    faults.add(fault, text.span(), hint=hint)
    return False


@dataclass(slots=True)
class Namespace:
    """The one namespace of inputs, dims, functions and definitions of a file."""

    faults: Faults
    owners: dict[str, tuple[str, Text]] = field(default_factory=dict)

    def claim(self, text: Text, what: str) -> None:
        """Give the name to `what`, or report who has it already."""
        owner, first = self.owners.setdefault(text.value, (what, text))
        if first is not text:
            self.clash(text, what, owner, first)

    def clash(self, text: Text, what: str, owner: str, first: Text) -> None:
        """Report one name for two things, at the later place of the two."""
        if first.positions[0] > text.positions[0]:
            text, what, owner, first = first, owner, what, text
        message = f"'{text}' is the name of {owner} and of {what}"
        if what == owner:
            message = f"'{text}' is the name of {what} twice"
        marks = ((first.span(), f"{owner}, first here"), (text.span(), what))
        # Many expect a local name to hide one of the file.
        hint = "definitions share the names of the file: rename one of them"
        is_local = what != owner and "a local definition" in (what, owner)
        self.faults.add(
            message, text.span(), marks=marks, hint=hint if is_local else None
        )

    def is_dim(self, text: Text) -> bool:
        """Whether a name is that of a dim."""
        return self.owners.get(text.value, ("",))[0] == "a dim"

    def check_index(self, text: Text) -> None:
        """Report an index on a left side that bears the name of anything but a dim."""
        if text.value in self.owners and not self.is_dim(text):
            self.clash(text, "an index", *self.owners[text.value])


def on_one_line(text: Text) -> str:
    """Return the value of a text without its line breaks."""
    return " ".join(text.value.split())
