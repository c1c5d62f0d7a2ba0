"""`tvm.cpu()`: the devices that programs run on."""

from __future__ import annotations

from dataclasses import dataclass

from relex.dialects.exceptions import DTypeError, RelexError, kind_of


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
