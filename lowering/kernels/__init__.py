"""Kernels: functions that are compiled on their own, and whose code is found again by programs that have them, too."""
