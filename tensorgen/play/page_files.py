"""The files of the page, as a browser gets them."""

from __future__ import annotations

from importlib.resources import files

from tensorgen.explanation.style import STYLE, lights

LIGHTS = 60
"""How many values of a function light up while one points at them."""
FILES = {
    "": "page.html",
    "page.css": "page.css",
    "page.js": "page.js",
    "answers.js": "answers_of_server.js",
}
"""What the page asks for, in its folder, where a server answers."""
EXAMPLES = "examples.json"
"""What is asked for besides: `gallery()`."""


def page_file(name: str) -> str:
    """Return the text of a file in `page/`."""
    text = (files("tensorgen.play") / "page" / name).read_text(encoding="utf-8")
    if name == "page.css":  # sections look as on a page of `tensorgen explain`
        text = "\n".join([STYLE, lights(LIGHTS), text])
    return text
