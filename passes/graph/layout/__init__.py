"""Operators and loops whose data lies in another order: blocks of channels, permuted dimensions, copies of inputs."""
