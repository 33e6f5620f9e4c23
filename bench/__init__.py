"""Measurements: speed, test suites, and matches with their statistics."""
