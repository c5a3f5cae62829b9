"""Text to terms and back: parser and printer."""
