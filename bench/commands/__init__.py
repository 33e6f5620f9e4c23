"""The subcommands of `secateur`. Each has a module, whose function `main(arguments)` returns the exit status."""
