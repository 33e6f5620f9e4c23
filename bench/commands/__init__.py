"""The subcommands of `secateur`, one module each, with `main(arguments)`, which returns the exit status."""
