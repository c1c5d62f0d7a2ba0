"""Files of strangers: nothing that they hold is run."""

from __future__ import annotations

import io
import json
import os
import pickle
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest

from relex.dialects.errors import CompileError
from relex.frontend.torch import from_exported
from relex.runtime import build
from relex.tools.run.relex_run import main

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed; make torch installs it")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")

MARK = "RELEX_TEST_MARK"


class Hostile:
    """What sets an environment variable when it is unpickled."""

    def __reduce__(self) -> Any:
        return exec, (f"import os; os.environ['{MARK}'] = '1'",)


@cache
def honest() -> bytes:
    """A file with dynamic sizes, a weight and a constant."""

    module: Any = torch.nn.Module

    class Model(module):
        def __init__(self) -> None:
            super().__init__()  # pyright: ignore[reportUnknownMemberType]
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x: Any) -> Any:
            return torch.cat([x, x * self.weight])[: x.shape[0] * 2 - 1] + torch.tensor([1.0, 2, 3])

    sizes = ({0: torch.export.Dim("batch", min=2, max=100)},)
    file = io.BytesIO()
    torch.export.save(torch.export.export(Model(), (torch.ones(4, 3),), dynamic_shapes=sizes), file)
    return file.getvalue()


def changed(change: Callable[[dict[str, bytes]], Mapping[str, bytes]]) -> bytes:
    """Return the file with other entries."""
    with ZipFile(io.BytesIO(honest())) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    found = io.BytesIO()
    with ZipFile(found, "w") as archive:
        for name, data in change(entries).items():
            archive.writestr(name, data)
    return found.getvalue()


def saved(value: object) -> bytes:
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


def hostile_inputs(entries: dict[str, bytes]) -> Mapping[str, bytes]:
    (name,) = (name for name in entries if "sample_inputs" in name)
    arguments: tuple[Any, ...] = ((Hostile(),), {})
    return {**entries, name: saved(arguments)}


def hostile_weight(entries: dict[str, bytes]) -> Mapping[str, bytes]:
    (config,) = (name for name in entries if "weights_config" in name)
    fields = json.loads(entries[config])
    fields["config"]["weight"]["use_pickle"] = True
    (weight,) = (name for name in entries if name.endswith("weights/weight_0"))
    return {**entries, config: json.dumps(fields).encode(), weight: saved(Hostile())}


def hostile_constant(entries: dict[str, bytes]) -> Mapping[str, bytes]:
    (config,) = (name for name in entries if "constants_config" in name)
    fields = json.loads(entries[config])
    (kept,) = fields["config"].values()
    kept |= {"path_name": "opaque_obj_0", "use_pickle": True}
    return {
        **entries,
        config: json.dumps(fields).encode(),
        f"{config.rpartition('/')[0]}/opaque_obj_0": pickle.dumps(Hostile()),
    }


def expression(text: str) -> Callable[[dict[str, bytes]], Mapping[str, bytes]]:
    def change(entries: dict[str, bytes]) -> Mapping[str, bytes]:
        (model,) = (name for name in entries if "models/" in name)
        return {**entries, model: entries[model].replace(b"Mul(Integer(2), ", f"{text} * Mul(Integer(2), ".encode())}

    return change


def machine_code(entries: dict[str, bytes]) -> Mapping[str, bytes]:
    folder = next(iter(entries)).partition("/")[0]
    return {**entries, f"{folder}/data/aotinductor/model/model.so": b"\x7fELF"}


RUN = f"exec(\\\"import os; os.environ['{MARK}'] = '1'\\\")"
ESCAPED = RUN.replace("exec", "\\u0065xec")

REFUSED = "expected arithmetic of sizes, found"

HOSTILE: dict[str, tuple[Callable[[dict[str, bytes]], Mapping[str, bytes]], str]] = {
    "inputs": (hostile_inputs, "a pickled '.*exec'; torch.export.load"),
    "weight": (hostile_weight, "a pickled '.*exec'; torch.export.load"),
    "constant": (hostile_constant, "a pickled '.*exec'; torch.export.load"),
    "call": (expression(RUN), REFUSED),
    "escaped call": (expression(ESCAPED), REFUSED),
    "method": (expression("Integer(2).__class__"), REFUSED),
    "expression in text": (expression("S('f()')"), REFUSED),
    "function": (expression("(lambda: 1)()"), REFUSED),
    "power": (expression("9**9**9"), REFUSED),
    "power in calls": (expression("Pow(Integer(9), Pow(Integer(9), Integer(9)))"), REFUSED),
    "power of powers": (expression("Pow(Pow(Pow(Integer(9), 64), 64), 64)"), REFUSED),
    "power of a sum": (expression("Pow(Add(a, b, c, d, e, f), 64)"), REFUSED),
    "power by a name": (expression("Pow(Integer(9), Symbol('s'))"), REFUSED),
    "shift": (expression("1 << 9**9"), REFUSED),
    "factorial": (expression("RisingFactorial(9**9, 9**9)"), REFUSED),
    "deep": (expression("-" * 50_000 + "1"), REFUSED),
    "machine code": (machine_code, r"expected a program, found machine code, '.*model.so'"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_files_are_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.delenv(MARK, raising=False)
    change, message = HOSTILE[kind]
    path = tmp_path / "model.pt2"
    path.write_bytes(changed(change))
    with pytest.raises(CompileError, match=message):
        from_exported(path)
    assert main([str(path), "--random"]) == 1
    assert capsys.readouterr().err.startswith(f"{path}: error: ")
    assert MARK not in os.environ


@pytest.mark.parametrize("kind", ["inputs", "weight", "constant", "call", "escaped call"])
def test_the_files_are_hostile(kind: str, monkeypatch: pytest.MonkeyPatch):
    """PyTorch's own reader runs what they hold."""
    monkeypatch.setenv(MARK, "")
    with suppress(Exception):
        torch.export.load(io.BytesIO(changed(HOSTILE[kind][0])))
    assert os.environ[MARK] == "1"


def test_two_entries_of_a_name_are_refused(tmp_path: Path):
    found = io.BytesIO(honest())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ZipFile(found, "a") as archive:
            archive.writestr(archive.namelist()[0], b"")
    (tmp_path / "model.pt2").write_bytes(found.getvalue())
    with pytest.raises(CompileError, match="expected one entry of each name"):
        from_exported(tmp_path / "model.pt2")


def test_honest_files_are_read(tmp_path: Path):
    (tmp_path / "model.pt2").write_bytes(changed(lambda entries: entries))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    expected = np.vstack([x, x[:1]]) + np.array([1, 2, 3])
    np.testing.assert_array_equal(build(str(tmp_path / "model.pt2"))["main"](x), expected)
    assert pickle.loads(pickle.dumps(Path("a"))) == Path("a")
