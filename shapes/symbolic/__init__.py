"""Symbolic integers, truth values and floats: what programs compute with in place of Python's own.

They make each other: a comparison of sizes is a truth value, which chooses among sizes, and a quotient is a float. So
each makes the others through the tables of its environment, and here these are given the three constructors.
"""

from shapes.symbolic.operations import Constructors, Operations
from shapes.symbolic.symbool import SymBool
from shapes.symbolic.symfloat import SymFloat
from shapes.symbolic.symint import SymInt

Operations.constructors = Constructors(SymInt, SymBool, SymFloat)
