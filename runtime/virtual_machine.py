"""Executables on a device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from relex.dialects.exceptions import DTypeError, RelexError, expect_kind, kind_of
from relex.runtime.executable import CompiledFunction, Executable


@dataclass(frozen=True)
class Device:
    """A device that programs run on: there is only one, the CPU."""

    kind: str = "cpu"
    index: int = 0

    def __post_init__(self) -> None:
        if (self.kind, self.index) != ("cpu", 0):
            raise RelexError(f"expected the device cpu(0), found {self}")

    def __str__(self) -> str:
        return f"{self.kind}({self.index})"


def cpu(index: int = 0) -> Device:
    """Return the CPU as a device. Raises `RelexError` for any index but 0."""
    return Device("cpu", index)


def as_device(device: object) -> Device:
    """Return a device, the CPU by default. Raises `DTypeError` for anything else, such as the name of one."""
    if device is None or isinstance(device, Device):
        return device or cpu()
    found = repr(device) if isinstance(device, str) else kind_of(device)
    raise DTypeError(f"expected the device cpu(0), as 'cpu()' gives it, found {found}")


class VirtualMachine(Mapping[str, CompiledFunction]):
    """An executable on a device: `VirtualMachine(ex, cpu())["main"](x)` is `ex["main"](x)`."""

    def __init__(self, executable: Executable, device: Device | None = None):
        expect_kind(executable, Executable, "an executable, as 'build' makes one of a module")
        self.executable = executable
        self.device = as_device(device)

    def __getitem__(self, name: str) -> CompiledFunction:
        return self.executable[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.executable)

    def __len__(self) -> int:
        return len(self.executable)
