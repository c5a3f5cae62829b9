"""What tests a backend: `backends.testing.conformance`."""
