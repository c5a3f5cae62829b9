"""Certificates that guards may be dropped: `certify(compiled, {"x.shape[0]": (1, 64)})`."""

from frontends.pytorch.certificates.certifying import certify

__all__ = ["certify"]
