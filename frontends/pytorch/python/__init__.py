"""What Python does around the tensors: calls that would concretize a number, and effects that a graph would lose."""
