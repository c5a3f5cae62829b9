"""Graph breaks: programs that run as Python, with the operators between breaks in captured graphs."""
