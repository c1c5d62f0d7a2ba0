"""Threads that share the loops of compiled code."""
