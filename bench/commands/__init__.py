"""Subcommands of `secateur`. The function `main(arguments)` of each module runs one and returns the exit status."""
