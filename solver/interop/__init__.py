"""Conversions between the reasoning core and other systems: sympy, SMT-LIB 2, LaTeX and z3.

Each is loaded when it is used, never by importing the core.
"""
