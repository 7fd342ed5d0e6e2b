"""Measures as pure functions: what a number means is written where it is computed."""
