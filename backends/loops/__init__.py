"""Loops over elements, free of any framework: tensor expressions, how they are fused, and the kernels that come out."""
