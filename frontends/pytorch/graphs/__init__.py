"""Graphs from a recording: size computations as nodes, joint forward and backward, functionalization, partition."""
