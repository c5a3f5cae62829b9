"""The CPU backend: fused kernels as self-contained C, built by the C compiler of the machine."""
