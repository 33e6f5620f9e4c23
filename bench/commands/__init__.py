"""Subcommands of `secateur`. Each module's `main(arguments)` runs its subcommand and returns the exit status."""
