"""Reference implementations: what each library does with a call, loaded when asked for."""
