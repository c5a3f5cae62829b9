"""The minifier: reduce a failing program to a minimal failing graph, as a script for an issue."""
