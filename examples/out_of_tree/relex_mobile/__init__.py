"""Operators of networks for small devices."""
