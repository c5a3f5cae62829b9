"""Graphs that Dynamo captures, compiled here: `torch.compile(model, backend="symshape")`."""
