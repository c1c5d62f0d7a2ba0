"""`tvm.relax.vm`: compile modules, and run them on a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

from relex.dialects.exceptions import expect_kind
from relex.frontend.tvm.devices import Device, as_device
from relex.frontend.tvm.nd import as_nd
from relex.runtime.compilation import build as build
from relex.runtime.executable import Executable


class VirtualMachine(Mapping[str, Callable[..., Any]]):
    """An executable on a device, whose functions return arrays of type `NDArray`: `vm["main"](x).numpy()`."""

    def __init__(self, executable: Executable, device: Device | None = None):
        expect_kind(executable, Executable, "an executable, as 'build' makes one of a module")
        self.executable = executable
        self.device = as_device(device)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        function = self.executable[name]

        @wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            return as_nd(function(*args, **named))

        return call

    def __iter__(self) -> Iterator[str]:
        return iter(self.executable)

    def __len__(self) -> int:
        return len(self.executable)
