"""The commands of the training pipeline. The `main(arguments)` of each module returns the exit status."""
