"""Programs that cannot be one graph: they run as Python, their operators in captured graphs."""
