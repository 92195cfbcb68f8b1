"""What the benchmarks share: the machine's description, medians and the result file."""

import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def processor() -> str:
    """Return the processor's name, where the system tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def machine(*packages: str) -> list[str]:
    """Return lines that say on what the figures were measured."""
    installed, absent = [], []
    for name in packages:
        try:
            installed.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            absent.append(name)
    versions = ", ".join(installed)
    return [
        f"machine  {processor()}, {os.cpu_count()} CPUs, {platform.system()}",
        f"python   {platform.python_version()}, {versions}",
        *[f"absent   {', '.join(absent)}: not installed, no rows"] * bool(absent),
    ]


def spread(seconds: Iterable[float]) -> tuple[float, float, float]:
    """Return median, least and largest of some times."""
    times = list(seconds)
    return statistics.median(times), min(times), max(times)


def timed(call: Callable[[], object]) -> float:
    """Return how many seconds a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def write(name: str, lines: list[str]) -> None:
    """Write a result file, and print it."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines) + "\n"
    (RESULTS / name).write_text(text, encoding="utf-8")
    print(text, end="")
