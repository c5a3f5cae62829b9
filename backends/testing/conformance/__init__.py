"""A suite for anybody's backend: whether what it compiles computes what torch computes.

    pytest --pyargs backends.testing.conformance
    pytest --pyargs backends.testing.conformance --shape-backend=mylib.backends:backend

It tests ours by default: those that can run here. `programs` has the programs, each with a function of torch
as its oracle, and `compiling` runs one by a backend. A backend that compiles kernels is given the lowered program once,
and then runs it at many sizes, those of 0 and 1 included; one that runs graphs is given a graph for each.

A test fails that names what the protocol asks for (`backends.backend`): an attribute, a launch for each kernel, memory
with the strides that were asked for, arguments that are left as they are, results that do not depend on earlier calls.
"""
