"""`tvm.relax.vm`: compile modules, and run them on a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

from relex.frontend.tvm.nd import as_nd
from relex.runtime.compilation import build as build
from relex.runtime.executable import Executable
from relex.runtime.virtual_machine import Device
from relex.runtime.virtual_machine import VirtualMachine as Machine


class VirtualMachine(Mapping[str, Callable[..., Any]]):
    """An executable on a device, whose functions return arrays of type `NDArray`: `vm["main"](x).numpy()`."""

    def __init__(self, executable: Executable, device: Device | None = None):
        self._machine = Machine(executable, device)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        function = self._machine[name]

        @wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            return as_nd(function(*args, **named))

        return call

    def __iter__(self) -> Iterator[str]:
        return iter(self._machine)

    def __len__(self) -> int:
        return len(self._machine)
