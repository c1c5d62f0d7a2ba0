"""The thread pool for parallel loops of compiled code."""
