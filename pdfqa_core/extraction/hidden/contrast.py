"""How well colours can be told apart: the contrast ratio of WCAG 2.2 (1.4.3), from 1 (none) to 21."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pdfqa_core.extraction.text.glyphs import Flags, Floats

Colors = npt.NDArray[np.integer] | npt.NDArray[np.floating]

LEAST = 1.5  # below this, text is taken to be hidden in its ground
_SHADES = 64  # of 255: colours that differ more than this in a channel can be seen by their hue
_PALE, _PALE_SHADES = 0.6, 128  # relative luminance from which on it takes more
_NONE = 1.25  # pale colours below this contrast: yellow on white

# Linear light of each of the 256 values of a channel (sRGB), and what each channel adds to the luminance.
_LINEAR = np.array([v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in np.arange(256) / 255])
_SHARES = np.array([0.2126, 0.7152, 0.0722])


def luminance(colors: Colors) -> Floats:
    """Return the relative luminance (…,), 0 to 1, of colours (…, 3) in red, green, blue from 0 to 255."""
    found: Floats = _LINEAR[np.clip(colors, 0, 255).astype(np.uint8)] @ _SHARES
    return found


def contrast(first: Floats, second: Floats) -> Floats:
    """Return the contrast ratio of two luminances (or arrays of them)."""
    return (np.maximum(first, second) + 0.05) / (np.minimum(first, second) + 0.05)


def alike(first: Colors, second: Colors) -> Flags:
    """Return which colours (…, 3) cannot be told apart well enough to read one on the other.

    The contrast ratio does not see hues: where colours differ much in one channel, text counts as visible.
    """
    one, other = luminance(first), luminance(second)
    difference = np.abs(np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)).max(axis=-1)
    ratio = contrast(one, other)
    pale = (np.minimum(one, other) > _PALE) & ((difference <= _PALE_SHADES) | (ratio < _NONE))
    found: Flags = (ratio < LEAST) & ((difference <= _SHADES) | pale)
    return found


def blended(colors: Floats, alpha: Floats, ground: Colors) -> Floats:
    """Return colours (n, 3) as they look at this opacity (n,), 0 to 1, on a ground (3,) or (n, 3)."""
    opacity = alpha[:, None]
    found: Floats = colors * opacity + np.asarray(ground, dtype=np.float64) * (1 - opacity)
    return found
