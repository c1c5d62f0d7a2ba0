"""Entry points for PyTorch models: the functions that users and tools call, before the package torch is imported."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relex.dialects.errors import CompileError, Diagnostic, RelexError, describe, expect_kind
from relex.dialects.readers import bytes_of
from relex.frontend.importing import expect_package

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def from_exported(
    program: Any, shapes: Mapping[str, int] | None = None, *, weights_as_arguments: bool = False
) -> ModuleOp:
    """Return the module for a model that `torch.export.export` has made a program of, or for the path of a file that
    `torch.export.save` has written.

    The program becomes the function `main`, whose arguments have the names of the arguments of `forward`. Sizes that
    `dynamic_shapes` leaves dynamic stay dynamic; `shapes` fixes them by name: `{"batch": 1}`. Parameters and buffers
    are constants, or, on request, further arguments with their names in the model, such as `layer.0.weight`. Buffers
    that the model changes are always arguments: the call changes them as it changes other arguments that the model
    changes, and `state_of` returns their first values.

    Raises `CompileError` with everything that cannot be imported, and `RelexError` for a file that cannot be read.
    """
    expect_package("torch", "models of PyTorch")
    from relex.frontend.torch.library import torch
    from relex.frontend.torch.program import import_program

    if isinstance(program, str | Path):
        path = Path(program)
        return import_program(load(bytes_of(path), str(path)), str(path), shapes or {}, weights_as_arguments)
    if isinstance(program, torch.nn.Module):
        raise RelexError("expected a program, found a model; torch.export.export(model.eval(), arguments) makes one")
    expect_kind(program, torch.export.ExportedProgram, "what torch.export.export returns, or the path of a .pt2 file")
    return import_program(program, "model", shapes or {}, weights_as_arguments)


def state_of(program: Any) -> dict[str, Any]:
    """Return the buffers that a program of `torch.export.export`, or in a file, changes: copies of them by name, which
    the function of `from_exported` takes as arguments, and changes."""
    expect_package("torch", "models of PyTorch")
    from relex.frontend.torch.program import initial_state

    return initial_state(load(bytes_of(Path(program)), str(program)) if isinstance(program, str | Path) else program)


def read_exported(data: bytes, name: str = "<bytes>", *, shapes: Mapping[str, Any] | None = None) -> ModuleOp:
    """Read the bytes of a file that `torch.export.save` has written, as the tools do. `shapes` fixes sizes."""
    expect_package("torch", "models of PyTorch")
    for size, given in (shapes or {}).items():
        if not isinstance(given, int):
            raise RelexError(f"'shapes' expected a number for the size '{size}', found {given}")
    from relex.frontend.torch.program import import_program

    return import_program(load(data, name), name, shapes or {}, False)


def load(data: bytes, name: str) -> Any:
    """Return the program in the bytes of a file, of which nothing is run. Raises `CompileError`."""
    from relex.frontend.torch.library import torch
    from relex.frontend.torch.untrusted import nothing_runs

    try:
        with nothing_runs(data):
            return torch.export.load(BytesIO(data))
    except RelexError as e:
        raise CompileError(Diagnostic(str(e), name)) from e
    except Exception as e:
        # The format is torch's own, as are its errors.
        message = f"expected a program that torch.export.save has written: {describe(e).splitlines()[0]}"
        raise CompileError(Diagnostic(message, name)) from e
