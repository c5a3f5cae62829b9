"""Python around the tensors: interception of calls that would concretize a number, and tracking of side effects."""
