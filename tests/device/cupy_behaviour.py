"""What CuPy does that no signature says, asked of a device.

`python -m tests.device.cupy_behaviour` calls the functions that modules may call on
small arrays, and writes the table that the stand-in keeps to: which arguments have to
be arrays where NumPy takes numbers as well, and what makes the host wait.
"""

from __future__ import annotations

import importlib
import itertools
import json
import multiprocessing
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from tests.emitted_trees import NUMPY

FOLDER = Path(__file__).resolve().parent.parent / "cupy_stand_in"
TABLE = FOLDER / "behaviour.json"
# Methods that write files.
_LEFT_OUT = ("dump", "dumps", "tofile")
_PROCESSES = 8  # most of the time goes into compiling kernels
_MODULES = {
    "cupy": "numpy",
    "cupy.fft": "numpy.fft",
    "cupy.lib.stride_tricks": "numpy.lib.stride_tricks",
    "cupy.linalg": "numpy.linalg",
    "cupyx.scipy.special": "scipy.special",
}
_POOL = (
    np.array([0.5, 0.25, 0.75]),
    np.array([[4.0, 1, 0], [1, 5, 2], [0, 2, 6]]),
    np.array([0, 2, 1]),
    np.array([True, False, True]),
    2,
    (3, 3),
)
Function = Callable[..., Any]


def behaviour() -> dict[str, Any]:
    """What the CuPy that is installed does on this machine's device."""
    arrays: dict[str, list[int]] = {}
    waits = []
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(_PROCESSES, mp_context=spawning) as pool:
        names = [name for name, _, _ in functions()]
        for name, refused, waiting in pool.map(_asked, names, chunksize=4):
            if refused:
                arrays[name] = refused
            if waiting:
                waits.append(name)
    version = importlib.import_module("cupy").__version__
    return {"version": version, "arrays": arrays, "waits": waits}


def _asked(wanted: str) -> tuple[str, list[int], bool]:
    refused: set[int] = set()
    waiting = False
    for name, ours, theirs in functions():
        if name == wanted:
            for args in accepted(ours, theirs):
                refused |= set(refusals(ours, theirs, args))
                waiting |= is_waiting(theirs, args)
    return wanted, sorted(refused), waiting


def functions() -> Iterator[tuple[str, Function, Function]]:
    """Names that signatures are known of, with NumPy's function and CuPy's."""
    for name in json.loads((FOLDER / "signatures.json").read_text()):
        module, _, last = name.rpartition(".")
        if module in _MODULES and (last in NUMPY or "special" in module):
            ours = getattr(importlib.import_module(_MODULES[module]), last, None)
            theirs = getattr(importlib.import_module(module), last, None)
            if callable(ours) and callable(theirs) and not isinstance(ours, type):
                yield name, ours, theirs
        elif (
            module == "cupy.ndarray"
            and last not in _LEFT_OUT
            and callable(getattr(np.ndarray, last))
        ):
            yield name, _method(last), _method(last)


def accepted(ours: Function, theirs: Function) -> Iterator[tuple[Any, ...]]:
    """Arguments from the pool that both libraries take, as few of them as may be."""
    for count in (1, 2, 3):
        tried = (
            args
            for args in itertools.product(_POOL, repeat=count)
            if isinstance(args[0], np.ndarray)
            and runs(ours, args)
            and runs(theirs, moved(args))
        )
        found = [*itertools.islice(tried, 2)]
        yield from found
        if found and count > 1:
            return


def refusals(ours: Function, theirs: Function, args: tuple[Any, ...]) -> Iterator[int]:
    """The places where NumPy takes a number, and CuPy does not."""
    for place, arg in enumerate(args):
        if isinstance(arg, np.ndarray):
            number = arg.ravel()[0].item()
            changed = (*args[:place], number, *args[place + 1 :])
            if runs(ours, changed) and not runs(theirs, moved(changed)):
                yield place


def is_waiting(theirs: Function, args: tuple[Any, ...]) -> bool:
    """Whether a call makes the host wait, when its kernels are compiled."""
    cupyx = importlib.import_module("cupyx")
    given = moved(args)
    theirs(*given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with cupyx.allow_synchronize(False):
            return not runs(theirs, given)


def runs(function: Function, args: tuple[Any, ...]) -> bool:
    """Whether a call raises nothing; arguments may be written to."""
    copies = [arg.copy() if hasattr(arg, "copy") else arg for arg in args]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(*copies)
        except Exception:
            return False
    return True


def moved(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments on the device; numbers stay numbers."""
    asarray = importlib.import_module("cupy").asarray
    return tuple(asarray(a) if isinstance(a, np.ndarray) else a for a in args)


def _method(name: str) -> Function:
    return lambda self, *args: getattr(self, name)(*args)


if __name__ == "__main__":
    TABLE.write_text(json.dumps(behaviour(), indent=1) + "\n")
