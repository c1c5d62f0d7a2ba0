"""Passes on loop functions."""
