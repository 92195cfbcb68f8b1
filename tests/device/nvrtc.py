"""Kernels compiled for devices, without one: by NVRTC, whose package needs no driver.

What CuPy puts around the text of a kernel is put here, over the headers of the CuPy
that is installed: arrays by their strides, indices, a loop over entries, and for what
reduces the threads of a block. `pip install cupy-cuda12x nvidia-cuda-nvrtc-cu12
nvidia-cuda-runtime-cu12` brings all that this needs.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

ARCHITECTURES = ("sm_70", "sm_80", "sm_90")
_HEADERS = ("complex.cuh", "carray.cuh", "atomics.cuh", "math_constants.h")
_TOP = "".join(f"#include <cupy/{name}>\n" for name in _HEADERS)
_C_TYPES = {"bool": "bool", "float32": "float", "float64": "double"}
_THREADS = 256


@cache
def missing() -> str | None:
    """Why nothing can be compiled; None where it can."""
    for name in ("cupy", "cupy_backends", "nvidia.cuda_runtime"):
        try:
            if importlib.util.find_spec(name) is None:
                return f"{name} is not installed"
        except ModuleNotFoundError:
            return f"{name} is not installed"
    try:
        _nvrtc().getVersion()
    except Exception as error:  # whatever its loader raises
        return f"NVRTC is not installed ({type(error).__name__})"
    return None


def _nvrtc() -> ModuleType:
    return importlib.import_module("cupy_backends.cuda.libs.nvrtc")


def kernels_of(module: ModuleType, standing: ModuleType) -> Iterator[Any]:
    """The kernels of a module that runs on the stand-in, those of its sums too."""
    for value in vars(module).values():
        inside = vars(value).values() if type(value).__name__ == "_Sums" else ()
        yield from (x for x in (value, *inside) if isinstance(x, standing.Kernel))


def program(kernels: Iterable[Any], dtype: str) -> str:
    """The source of some kernels, for numbers of one type."""
    parts = [_TOP]
    for k, kernel in enumerate(kernels):
        parts += [f"namespace of_{k} {{", *_kernel(kernel, dtype), "}"]
    return "\n".join(parts) + "\n"


def _kernel(kernel: Any, dtype: str) -> Iterator[str]:
    every = (*kernel.inputs, *kernel.outputs)
    letters = [kind for kind, _ in every if len(kind) == 1]
    types = {x: _C_TYPES[dtype] if x == "T" else "long long" for x in letters}
    yield from (f"typedef {own} {kind};" for kind, own in types.items())
    yield kernel.preamble
    reduces = hasattr(kernel, "reduce")
    if reduces:
        yield f"typedef {kernel.type} _type_reduce;"
        yield f"#define REDUCE(a, b) ({kernel.reduce})"
        yield f"#define POST_MAP(a) ({kernel.post})"
    given = [_parameter(kernel, kind, name) for kind, name in every]
    indexers = ["_in_ind", "_out_ind"] if reduces else ["_ind"]
    given += [f"CIndexer<2, 1> {name}" for name in indexers]
    yield f'extern "C" __global__ void {kernel.name}({", ".join(given)}) {{'
    yield from _reduction(kernel) if reduces else _entrywise(kernel)
    yield "}"
    if reduces:
        yield "#undef REDUCE\n#undef POST_MAP"


def _parameter(kernel: Any, kind: str, name: str) -> str:
    """An array, or a number by its value."""
    if name in kernel.numbers:
        return f"const {kind} {name}"
    given = any(name == own for _, own in kernel.inputs)
    return f"{'const ' * given}CArray<{kind}, 2, 0, 1> _raw_{name}"


def _read(kernel: Any, index: str) -> Iterator[str]:
    for kind, name in kernel.inputs:
        if name not in kernel.numbers:
            yield f"const {kind} &{name} = _raw_{name}[{index}.get()];"


def _made(kernel: Any, index: str) -> Iterator[str]:
    for kind, name in kernel.outputs:
        yield f"{kind} &{name} = _raw_{name}[{index}.get()];"


def _entrywise(kernel: Any) -> Iterator[str]:
    yield "CUPY_FOR(i, _ind.size()) {\n_ind.set(i);"
    yield from (*_read(kernel, "_ind"), *_made(kernel, "_ind"))
    yield f"{kernel.operation};\n}}"


def _reduction(kernel: Any) -> Iterator[str]:
    yield f"__shared__ char _raw[{_THREADS} * sizeof(_type_reduce)];"
    yield "_type_reduce *_sdata = reinterpret_cast<_type_reduce *>(_raw);"
    yield "const unsigned int _tid = threadIdx.x;"
    yield "const ptrdiff_t _i = blockIdx.x;"
    yield f"_type_reduce _s = _type_reduce({kernel.identity});"
    yield "for (ptrdiff_t _j = _tid; _j < _in_ind.size(); _j += blockDim.x) {"
    yield "_in_ind.set(_j);"
    yield from _read(kernel, "_in_ind")
    yield f"_type_reduce _a = static_cast<_type_reduce>({kernel.map});"
    yield "_s = REDUCE(_s, _a);\n}\n_sdata[_tid] = _s;\n__syncthreads();"
    yield f"for (unsigned int _block = {_THREADS // 2}; _block >= 1; _block >>= 1) {{"
    yield "if (_tid < _block) {"
    yield "_type_reduce _a = _sdata[_tid], _b = _sdata[_tid + _block];"
    yield "_sdata[_tid] = REDUCE(_a, _b);\n}\n__syncthreads();\n}"
    yield "_s = _sdata[0];\n_out_ind.set(_i);"
    yield from _made(kernel, "_out_ind")
    yield "POST_MAP(_s);"


def compile_for(source: str, architecture: str, *options: str) -> str:
    """Compile a source, and return it as instructions of that architecture.

    Raises AssertionError with what the compiler says where it refuses or warns.
    """
    nvrtc = _nvrtc()
    whole = nvrtc.createProgram(source, "kernels.cu", [], [])
    every = [f"-I{folder}" for folder in _folders()]
    every += ["-std=c++17", "-ftz=true", "--device-as-default-execution-space"]
    every += [f"-arch={architecture}", *options]
    try:
        nvrtc.compileProgram(whole, every)
        assert len(nvrtc.getCUBIN(whole))
        found = nvrtc.getPTX(whole)
        assert "kernels.cu(" not in nvrtc.getProgramLog(whole)
        return found.decode() if isinstance(found, bytes) else str(found)
    except (nvrtc.NVRTCError, AssertionError) as error:
        raise AssertionError(f"{nvrtc.getProgramLog(whole)}\n{source}") from error
    finally:
        nvrtc.destroyProgram(whole)


def _folders() -> Iterator[Path]:
    """Where headers are, without importing what asks for a driver."""
    own = _folder("cupy") / "_core" / "include"
    for part in ("thrust", "cub", "libcudacxx"):
        yield own / "cupy" / "_cccl" / part
    yield own
    yield _folder("nvidia.cuda_runtime") / "include"


def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    assert spec is not None
    return Path(next(iter(spec.submodule_search_locations or [])))
