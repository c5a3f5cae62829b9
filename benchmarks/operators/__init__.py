"""Torch's operator database, traced: every operator on its samples, forward and backward, at their sizes and at others.

- `programs`: a sample as a function of its tensors, and tensors like the sample's at other sizes
- `resizing`: which other sizes to try
- `judging`: the outcome of one operator
- `record`: the outcome as a line of JSON
- `worker`: a judging process, since a kernel may crash its process
- `page`: the table

The command is described in `benchmarks.operators.__main__`.
"""
