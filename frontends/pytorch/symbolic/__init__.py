"""Symbolic numbers and tensors, with which a traced program computes."""
