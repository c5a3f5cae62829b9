"""The prompt: ask what follows from what, in a terminal or a script. `python -m shapes` opens it.

>>> from shapes.prompt.grammar import parse_command
>>> parse_command("guards").name
'guards'
"""
