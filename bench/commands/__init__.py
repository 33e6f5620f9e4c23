"""The subcommands of `secateur`, one module each, with a `main(arguments) -> exit status`."""
