"""Compiled programs for C and C++."""
