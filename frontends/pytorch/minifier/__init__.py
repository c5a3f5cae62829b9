"""The minifier: reduce a failing program to a minimal failing graph, as a script for an issue."""

from frontends.pytorch.minifier.minifying import Minified, minify

__all__ = ["Minified", "minify"]
