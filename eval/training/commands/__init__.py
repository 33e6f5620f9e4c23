"""The subcommands of the training pipeline: each a module with `main(arguments) -> exit status`."""
