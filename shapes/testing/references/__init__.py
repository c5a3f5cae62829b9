"""The real operators: what each library does with a call. None is loaded before it is asked for."""
