"""Memory planning: lifetimes of buffers, in-place calls, and offsets in one arena."""
