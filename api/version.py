"""The installed version of relex."""

from importlib.metadata import version

DISTRIBUTION = "relex-compiler"
"""The name of relex's distribution: "relex" on PyPI is another project."""

__version__ = version(DISTRIBUTION)
