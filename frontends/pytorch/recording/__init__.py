"""A program as the operators that it ran: the recorder, what operators give, and those it treats by itself."""
