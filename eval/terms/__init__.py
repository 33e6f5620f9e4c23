"""The terms of the classical evaluation, one module for each kind of term, and shared modules."""
