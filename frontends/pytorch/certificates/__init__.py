"""Certificates that guards may be dropped: `certify(compiled, {"x.shape[0]": (1, 64)})`."""
