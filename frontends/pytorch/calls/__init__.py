"""Between calls: which variant accepts the arguments, what is dynamic, and what is told about it."""
