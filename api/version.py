"""The version of relex that is installed."""

from importlib.metadata import version

DISTRIBUTION = "relex-compiler"
"""What pip calls relex: on PyPI, the name is another project's."""

__version__ = version(DISTRIBUTION)
