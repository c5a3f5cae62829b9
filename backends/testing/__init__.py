"""The tests of a backend: `backends.testing.conformance`."""
