"""The records of processors, and what follows from them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from xdsl.dialects.builtin import ModuleOp

from relex.dialects import parse_module
from relex.dialects.target.processors import PROCESSORS, Processor, baseline_of, features_of, processor_of
from relex.dialects.target.target_attribute import Target, set_target
from relex.lowering import RelexPipelinePass
from relex.runtime.threads.pool import pool_text

RISCV = Target("riscv64-unknown-linux-gnu", "", "+v")
POWER = Target("powerpc64le-unknown-linux-gnu", "pwr9")
KNOWN = {
    "x86-64 with SSE2": (Target("x86_64-unknown-linux-gnu"), 128, 16),
    "x86-64 with AVX2": (Target("x86_64-unknown-linux-gnu", "haswell"), 256, 16),
    "x86-64 with AVX-512": (Target("amd64-unknown-freebsd", "skylake-avx512"), 512, 32),
    "AArch64": (Target("arm64-apple-darwin"), 128, 32),
    "RISC-V": (RISCV, 0, 0),
    "WebAssembly": (Target("wasm32-unknown-wasi"), 0, 0),
    "WebAssembly with SIMD": (Target("wasm32-unknown-unknown", "", "+simd128"), 128, 16),
}
"""A target of each processor, with the size and number of its vector registers, if there are any."""


def test_every_processor_is_known_here() -> None:
    assert list(KNOWN) == list(PROCESSORS)


@pytest.mark.parametrize("name", KNOWN)
def test_the_processor_of_a_target(name: str) -> None:
    target, bits, registers = KNOWN[name]
    found = processor_of(target)
    if not bits:
        assert found is None
        assert baseline_of(target.triple) is PROCESSORS[name]
        return
    assert found
    known = PROCESSORS[name]
    assert replace(found, tile_features=known.tile_features, dot2_features=known.dot2_features) == known
    assert not found.tile_features
    assert not found.dot2_features
    assert (found.vector_bits, found.vector_registers, found.lanes(32)) == (bits, registers, bits // 32)


@pytest.mark.parametrize(
    ("cpu", "has_dot2"), [("znver4", True), ("znver5", True), ("znver3", False), ("cooperlake", False)]
)
def test_pairs_of_bf16_take_the_time_of_one_number_on_processors_of_amd(cpu: str, has_dot2: bool) -> None:
    found = processor_of(Target("x86_64-unknown-linux-gnu", cpu))
    assert found
    assert bool(found.dot2_features) is has_dot2


def test_an_architecture_without_a_record() -> None:
    assert processor_of(POWER) is None
    assert baseline_of(POWER.triple) == Processor("powerpc64le")


@pytest.mark.parametrize(
    ("target", "features"),
    [
        (Target("riscv64-linux-gnu"), "+m,+a,+f,+d,+c"),
        (RISCV, "+m,+a,+f,+d,+c,+v"),
        # The cpu implies its own, and a machine without a system may be a small one.
        (Target("riscv64-linux-gnu", "generic-rv64", "+m"), "+m"),
        (Target("riscv64-unknown-elf"), ""),
        # Loops in all of a register, unless the target says otherwise.
        (Target("x86_64-linux-gnu", "", "+avx2"), "-prefer-256-bit,+avx2"),
        (Target("x86_64-unknown-elf", "cascadelake", "+prefer-256-bit"), "-prefer-256-bit,+prefer-256-bit"),
    ],
    ids=str,
)
def test_what_a_triple_means(target: Target, features: str) -> None:
    assert features_of(target) == features


@pytest.mark.parametrize(
    ("target", "rounding"),
    [
        (Target("x86_64-linux-gnu"), "rint"),
        (Target("x86_64-linux-gnu", "haswell"), "roundeven"),
        (Target("aarch64-linux-gnu"), "roundeven"),
        (Target("riscv64-linux-gnu"), "roundeven"),
        (Target("riscv64-unknown-elf"), "rint"),
        (POWER, "rint"),
    ],
    ids=str,
)
def test_rounding_calls_what_every_c_library_has(target: Target, rounding: str) -> None:
    module = parse_module("func.func @f(%x: f32) -> f32 { %y = math.roundeven %x : f32 func.return %y : f32 }")
    set_target(module, target)
    assert f'"llvm.{rounding}.f32"' in str(RelexPipelinePass()(module))


def dense(m: int, k: int, n: int, target: Target) -> ModuleOp:
    """A dense layer for a target."""
    x, w, y = (f"tensor<{rows}x{columns}xf32>" for rows, columns in ((m, k), (n, k), (m, n)))
    module = parse_module(f"""
        func.func @main(%x: {x}, %w: {w}) -> {y} {{
          %y = relex.dense %x, %w : ({x}, {w}) -> {y}
          func.return %y : {y}
        }}""")
    set_target(module, target)
    return module


def scheduled(m: int, k: int, n: int, target: Target) -> str:
    """The loops of a dense layer for a target."""
    return str(RelexPipelinePass("loops")(dense(m, k, n, target)))


@pytest.mark.parametrize(("bits", "registers"), [(128, 32), (256, 16), (1024, 8)])
def test_a_record_is_all_that_tiles_need(bits: int, registers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "vectorized" not in scheduled(64, 64, 64, RISCV)
    monkeypatch.setattr(PROCESSORS, "maps", [dict(PROCESSORS)])
    PROCESSORS.add(Processor("riscv64", bits, registers, feature="v"), "RISC-V with vectors")
    loops = scheduled(64, 64, 64, RISCV)
    rows, columns = map(int, re.findall(r"alloc_buffer : memref<(\d+)x(\d+)xf32>", loops)[-1])
    lanes = bits // 32
    assert columns % lanes == 0
    assert registers // 2 < rows * columns // lanes + 1 + columns // lanes <= registers
    assert re.search(rf"vectorized %\w+ @\w+ in [^)]*, {lanes}\)", loops)
    assert "vectorized" not in scheduled(64, 64, 64, Target(RISCV.triple))


def test_waiting_threads_use_the_instruction_of_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PROCESSORS, "maps", [dict(PROCESSORS)])
    PROCESSORS.add(Processor("powerpc64le", pause="call void @yield()"), "POWER")
    assert "@yield()" in pool_text(POWER.triple)
    assert "@yield()" not in pool_text(RISCV.triple)
