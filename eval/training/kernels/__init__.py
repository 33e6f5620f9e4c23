"""The kernels of the training pipeline: self-play, checks, decoding and gradients."""
