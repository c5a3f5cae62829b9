"""What a traced program computes with: numbers and tensors that stand for those of any run."""
