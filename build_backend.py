"""setuptools as the build backend, with one thing more: an editable install is found before the working folder.

setuptools leaves the packages of an editable install to a finder that Python asks last. In the parent of a clone of
relex, Python has by then found the clone: a folder `relex` without `__init__.py`, which it takes for a namespace
package. A package with `__init__.py` anywhere on the path is preferred to that, so site-packages gets one.
"""

from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from setuptools import build_meta
from setuptools.build_meta import build_sdist as build_sdist
from setuptools.build_meta import build_wheel as build_wheel
from setuptools.build_meta import get_requires_for_build_editable as get_requires_for_build_editable
from setuptools.build_meta import get_requires_for_build_sdist as get_requires_for_build_sdist
from setuptools.build_meta import get_requires_for_build_wheel as get_requires_for_build_wheel
from setuptools.build_meta import prepare_metadata_for_build_editable as prepare_metadata_for_build_editable
from setuptools.build_meta import prepare_metadata_for_build_wheel as prepare_metadata_for_build_wheel

Settings = dict[str, str | list[str] | None] | None

REDIRECTION = """\
import sys
from importlib.util import module_from_spec, spec_from_file_location

spec = spec_from_file_location(__name__, {init!r})
sys.modules[__name__] = module = module_from_spec(spec)
spec.loader.exec_module(module)
"""
"""The package in site-packages: the one of the checkout takes its place."""


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """The wheel of an editable install."""
    name = build_meta.build_editable(wheel_directory, config_settings, metadata_directory)
    init = Path(__file__).resolve().parent / "api" / "__init__.py"
    _complete(Path(wheel_directory, name), "relex/__init__.py", REDIRECTION.format(init=str(init)).encode())
    return name


def _complete(wheel: Path, file: str, content: bytes) -> None:
    """Add a file to a wheel that has setuptools' finder: with `editable_mode=strict`, there is a folder on the path."""
    with ZipFile(wheel) as archive:
        files = {info: archive.read(info) for info in archive.infolist()}
    if not any(info.filename.endswith("_finder.py") for info in files):
        return
    digest = urlsafe_b64encode(sha256(content).digest()).decode().rstrip("=")
    with ZipFile(wheel, "w", ZIP_DEFLATED) as archive:
        archive.writestr(file, content)
        for info, data in files.items():
            is_record = info.filename.endswith(".dist-info/RECORD")
            archive.writestr(info, data + f"{file},sha256={digest},{len(content)}\n".encode() if is_record else data)
