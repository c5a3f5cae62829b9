"""What Python does around the tensors: calls that would force a number, and effects that a graph would lose."""
