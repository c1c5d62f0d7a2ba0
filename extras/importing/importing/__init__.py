"""Code shared by importers of all formats: the values of a graph, the function that it becomes, and its nodes."""

from __future__ import annotations

from importlib.util import find_spec

from relex.dialects.errors import RelexError


def expect_package(package: str, models: str) -> None:
    """Raise `RelexError` unless the package that reads models is installed."""
    if find_spec(package) is None:
        raise RelexError(
            f"{models} are read by the package {package}, which is not installed: "
            f'pip install "relex-compiler[{package}]", or pip install ".[{package}]" in a clone'
        )
