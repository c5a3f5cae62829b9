"""The minifier: from a program that fails to the smallest graph that does, as a script for an issue."""

from frontends.pytorch.minifier.minifying import Minified, minify

__all__ = ["Minified", "minify"]
