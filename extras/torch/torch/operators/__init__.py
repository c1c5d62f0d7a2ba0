"""The imports of ATen's operators, one file a family. Importing this package fills the table."""

from importlib import import_module
from pkgutil import iter_modules

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")
