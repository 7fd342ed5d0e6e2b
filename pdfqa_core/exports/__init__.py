"""Results as files: rows in, bytes out."""
