"""What torch computes with its own symbols, computed faster: `frontends.pytorch.reasoner()`."""
