"""Fused kernels against Inductor's: the same small functions, forward and backward, compiled and run side by side."""
