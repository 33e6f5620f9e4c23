"""The kernels of the training pipeline: self-play, checks, decoding, gradients and the optimiser."""
