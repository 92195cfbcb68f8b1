"""The page of `tensorgen play` as files that any server of files can serve.

    python docs/static_play.py FOLDER

The page, its scripts and the code that answers are those of `tensorgen/play`; in the
browser that code is run by Pyodide. With PYODIDE=... in the environment, Pyodide is
copied from that folder, where its release was unpacked; without, the page fetches it
from where Pyodide is published.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tensorgen.play.gallery import gallery
from tensorgen.play.guard import POLICY
from tensorgen.play.in_browser import BUDGET
from tensorgen.play.page_files import EXAMPLES, FILES, page_file
from tensorgen.play.requests import FELL

ROOT = Path(__file__).resolve().parent.parent
VERSION = "0.27.7"
PUBLISHED = f"https://cdn.jsdelivr.net/pyodide/v{VERSION}/full/"
"""Where Pyodide is published for pages to load it."""
RUNTIME = "pyodide"
"""The folder beside the page that holds a copy of it."""
LOCK = "pyodide-lock.json"
LOADED = (
    "pyodide.mjs",
    "pyodide.asm.js",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    LOCK,
)
COMPILED = ("markupsafe", "numpy", "pyyaml")
"""What the compiler needs that is no pure Python: packages of Pyodide's own."""
EXTRAS = ("", "verify")
THERE = {"sys_platform": "emscripten", "platform_system": "Emscripten"}
"""Where the requirements of packages are to hold."""
ARCHIVE = "packages.zip"
STATIC = {name or "index.html": own for name, own in FILES.items()} | {
    "answers.js": "answers_here.js",
    "python_worker.js": "python_worker.js",
}
"""Files of the page, where nothing but files is served."""


def named_runtime() -> Path | None:
    """The folder of Pyodide that the environment names, if it does."""
    named = os.environ.get("PYODIDE")
    return Path(named).resolve() if named else None


class RuntimeFolderError(Exception):
    """A folder is named that does not hold what the page loads."""


def build(folder: Path, runtime: Path | None = None) -> None:
    """Write the page to a folder, and the runtime from another beside it.

    What was there is replaced. Raises `RuntimeFolderError` where the runtime lacks
    something.
    """
    needed = [] if runtime is None else [*_needed(runtime)]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, own in STATIC.items():
        text = page_file(own)
        if name == "index.html":
            text = _with_policy(text)
        (folder / name).write_text(text, encoding="utf-8")
    setup = {
        "runtime": PUBLISHED if runtime is None else f"{RUNTIME}/",
        "packages": COMPILED,
        "archive": ARCHIVE,
        "seconds": BUDGET.seconds,
        "late": BUDGET.late,
        "fell": FELL,
    }
    for name, told in (("setup.json", setup), (EXAMPLES, gallery())):
        (folder / name).write_text(json.dumps(told), encoding="utf-8")
    with zipfile.ZipFile(folder / ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in _packages():
            # Of no date: the same packages are the same file.
            archive.writestr(zipfile.ZipInfo(path), content, zipfile.ZIP_DEFLATED, 9)
    for file in needed:
        (folder / RUNTIME).mkdir(exist_ok=True)
        shutil.copyfile(file, folder / RUNTIME / file.name)


def _with_policy(page: str) -> str:
    """The page with what a server's header says of it, as far as a page can."""
    policy = "; ".join(x for x in POLICY.split("; ") if "frame-ancestors" not in x)
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return page.replace("<head>\n", f"<head>\n{meta}\n", 1)


def _needed(runtime: Path) -> Iterator[Path]:
    """The files of the runtime that the page loads."""
    names = [*LOADED]
    if (runtime / LOCK).is_file():
        known = json.loads((runtime / LOCK).read_text(encoding="utf-8"))["packages"]
        names += [known[package]["file_name"] for package in COMPILED]
    for name in names:
        if not (runtime / name).is_file():
            raise RuntimeFolderError(f"{runtime} has no {name}")
        yield runtime / name


def _packages() -> Iterator[tuple[str, bytes]]:
    """The compiler and the pure Python that it needs: paths, and what they hold."""
    with tempfile.TemporaryDirectory() as made:
        command = [
            sys.executable,
            "-m",
            "hatchling",
            "build",
            "-t",
            "wheel",
            "-d",
            made,
        ]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        (wheel,) = Path(made).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(made)
        (own,) = distributions(path=[made])
        for one in (own, *_required(own)):
            for path in one.files or ():
                if _is_pure(path.parts):
                    yield path.as_posix(), path.read_binary()


def _is_pure(parts: tuple[str, ...]) -> bool:
    """Whether a file of a package is one for everywhere: code, data or its licence.

    What compiled packages have in pure Python as well is used then.
    """
    *folders, name = parts
    if ".." in folders or "__pycache__" in folders:
        return False
    if folders and folders[0].endswith(".dist-info"):
        return name == "METADATA" or "licens" in "/".join(parts).lower()
    return not name.endswith((".so", ".pyd", ".pth", ".pyi"))


def _required(own: Distribution) -> list[Distribution]:
    """What is installed here of what the compiler requires, and so on."""
    found: dict[str, Distribution] = {}
    waiting: list[tuple[Distribution, tuple[str, ...]]] = [(own, EXTRAS)]
    while waiting:
        one, extras = waiting.pop()
        for text in one.requires or ():
            what = Requirement(text)
            name = canonicalize_name(what.name)
            holds = what.marker is None or any(
                what.marker.evaluate({**THERE, "extra": extra}) for extra in extras
            )
            if holds and name not in COMPILED and name not in found:
                found[name] = distribution(name)
                waiting.append((found[name], ("", *what.extras)))
    return [found[name] for name in sorted(found)]


def main() -> None:
    """Build the page in the folder that is given."""
    build(Path(sys.argv[1]), named_runtime())


if __name__ == "__main__":
    main()
