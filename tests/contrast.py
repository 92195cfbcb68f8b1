"""Contrasts of colors in style sheets, as WCAG 2.2 defines them.

Custom properties are looked up as browsers do, for rules whose selectors ask for
nothing but attributes of the page's root: the theme's palette is made of such.
"""

from __future__ import annotations

import colorsys
import re
from collections.abc import Iterable, Mapping

AA = 4.5
"""The least contrast of text at level AA."""
Color = tuple[float, float, float, float]

_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_ATTRIBUTE = re.compile(r"\[([\w-]+)=[\"']?([\w-]+)[\"']?\]")
_PROPERTY = re.compile(r"(--[\w-]+)\s*:\s*([^;]+)")
_VARIABLE = re.compile(r"var\((--[\w-]+)\)")


def properties(sheets: Iterable[str], root: Mapping[str, str]) -> dict[str, str]:
    """Return the custom properties of a root with some attributes."""
    found: list[tuple[int, str, str]] = []
    for sheet in sheets:
        text = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
        for selectors, body in _RULE.findall(text):
            for selector in selectors.split(","):
                asked = _ATTRIBUTE.findall(selector)
                rest = _ATTRIBUTE.sub("", selector).strip()
                if rest in ("", ":root") and all(root.get(a) == b for a, b in asked):
                    rows = _PROPERTY.findall(body)
                    found += [(len(asked), name, value) for name, value in rows]
    # What asks for more wins, then what comes later.
    return {name: value.strip() for _, name, value in sorted(found, key=lambda x: x[0])}


def color(text: str, known: Mapping[str, str]) -> Color:
    """Return what a text of CSS says: red, green, blue and opacity, each up to 1."""
    while found := _VARIABLE.search(text):
        text = text.replace(found[0], known[found[1]])
    if text.startswith("#"):
        digits = text[1:]
        if len(digits) in (3, 4):
            digits = "".join(2 * x for x in digits)
        parts = [int(digits[k : k + 2], 16) / 255 for k in range(0, len(digits), 2)]
        return (*parts, 1.0)[:4]  # type: ignore[return-value]
    function, _, inside = text.rstrip(")").partition("(")
    numbers = [_number(x) for x in re.split(r"[\s,/]+", inside.strip())]
    alpha = numbers[3] if len(numbers) > 3 else 1.0
    if function.startswith("hsl"):
        hue, saturation, lightness = numbers[:3]
        return (*colorsys.hls_to_rgb(hue / 360, lightness, saturation), alpha)
    assert function.startswith("rgb"), text
    red, green, blue = (x / 255 for x in numbers[:3])
    return red, green, blue, alpha


def _number(text: str) -> float:
    text = text.removesuffix("deg")
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


def over(above: Color, below: Color) -> Color:
    """Return what is seen of a color over an opaque one."""
    alpha = above[3]
    red, green, blue = (
        alpha * a + (1 - alpha) * b for a, b in zip(above[:3], below[:3], strict=True)
    )
    return red, green, blue, 1.0


def contrast(text: Color, ground: Color) -> float:
    """Return the contrast of a text on an opaque ground, from 1 to 21."""
    light, dark = sorted(map(_luminance, (over(text, ground), ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(found: Color) -> float:
    linear = (
        x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in found[:3]
    )
    return sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
