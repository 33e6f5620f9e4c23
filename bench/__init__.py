"""Measuring: speed, suites, matches and their statistics."""
