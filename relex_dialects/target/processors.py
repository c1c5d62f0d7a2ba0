"""Processors: one record for each kind that relex generates its own code for. LLVM knows everything else about them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from relex.dialects.table import Table
from relex.dialects.target.machine import Target


@dataclass(frozen=True)
class Processor:
    """
    An architecture, or the processors of an architecture that have a feature.

    The cache sizes are typical of common processors of the kind: the schedule of a loop may not depend on the machine
    that compiles it.
    """

    architecture: str
    """The architecture of a triple, as LLVM normalizes it: `x86_64` for `amd64`, `aarch64` for `arm64`."""

    vector_bits: int = 0
    """The size of a vector register; 0 if there are none, and loops keep the order that they have."""

    vector_registers: int = 0

    feature: str = ""
    """LLVM's name of the feature that such a processor has; empty for what all processors of the architecture have."""

    l1_bytes: int = 2**15
    """The size of the first-level data cache of a core."""

    l1_ways: int = 8
    """The lines of the first-level data cache that hold addresses of the same remainder, its associativity."""

    line_bytes: int = 64
    """The size of a cache line."""

    l2_bytes: int = 2**20
    """The size of the second-level cache of a core."""

    l3_bytes: int = 2**22
    """The size of the third-level cache, for each core."""

    stores_parts: bool = False
    """Whether an instruction stores only some elements of a vector in the time of a full store."""

    takes_pairs_apart: bool = False
    """Whether an instruction selects the even or the odd elements, of 32 or 64 bits, of two vectors at once."""

    shares_issue: bool = False
    """Whether cores run two threads, each of which issues half as many instructions in a cycle as one alone."""

    has_maximum: bool = False
    """Whether an instruction computes the larger of two floats, or NaN if one is NaN, as `arith.maximumf` does."""

    compared_bits: int = 32
    """The size in bits of the widest integers of which a vector instruction computes the maximum."""

    f16_feature: str | None = None
    """The feature without which LLVM calls helper functions to convert f16 to f32; empty if all processors have it,
    None if none has."""

    f16_rounding_feature: str | None = None
    """The same for f64 to f16, and multiply-adds of f16, which are rounded once."""

    rounding_feature: str | None = None
    """The same for `roundeven`, which few C libraries have."""

    dot4_features: tuple[str, ...] = ()
    """The features, any of which has instructions for `tir.dot4` in vectors."""

    dot2i_features: tuple[str, ...] = ()
    """The same for `tir.dot2i`; empty strings for what all have. These products take twice as many instructions."""

    dot2_features: tuple[str, ...] = ()
    """The features of processors, which have all of them, that multiply two numbers of bf16 in a vector, by `tir.dot2`,
    in the time of one of f32."""

    tile_features: tuple[str, ...] = ()
    """The features that have instructions which multiply tiles, `TILE_PRODUCTS`."""

    assumed: str = ""
    """The features, as in `Target`, of code for a triple with an operating system, unless it is for a certain cpu."""

    tuning: str = ""
    """Flags, as in `Target`, by which LLVM chooses among the available instructions, as for wide vectors."""

    lists_features: bool = False
    """Whether LLVM reports every feature of the host; if not, the name of the cpu implies others."""

    privileged: tuple[str, ...] = ()
    """Features whose instructions LLVM emits only on explicit request; virtual machines often hide them."""

    pause: str = ""
    """The instruction for a thread that waits in a loop, as a call in LLVM IR; empty if there is none."""

    def lanes(self, bits: int) -> int:
        """Return the number of elements of `bits` bits in a vector register."""
        return self.vector_bits // bits


PROCESSORS = Table[str, Processor]("processors")
"""The kinds of processors by name. Open: `PROCESSORS.add(Processor(...), "name")` adds one."""

_X86_64 = Processor(
    "x86_64",
    vector_bits=128,
    vector_registers=16,
    f16_feature="f16c",
    f16_rounding_feature="avx512fp16",
    rounding_feature="sse4.1",
    dot4_features=("avx512vnni", "avxvnni"),
    dot2i_features=("",),
    tile_features=("amx-int8", "amx-bf16"),
    # Otherwise loops vectorized by LLVM use half of each register on Intel's processors, unlike loops in vectors here.
    tuning="-prefer-256-bit",
    lists_features=True,
    privileged=tuple(
        "cldemote clflushopt clwb clzero enqcmd fsgsbase hreset invpcid kl lwp movdir64b movdiri mwaitx pconfig pku "
        "prefetchi prfchw ptwrite raoint rdpid rdpru rdrnd rdseed rtm serialize sgx shstk tsxldtrk uintr usermsr "
        "waitpkg wbnoinvd widekl xsave xsavec xsaveopt xsaves".split()
    ),
    pause="call void @llvm.x86.sse2.pause()",
)

PROCESSORS.add(_X86_64, "x86-64 with SSE2")
PROCESSORS.add(replace(_X86_64, feature="avx2", vector_bits=256, shares_issue=True), "x86-64 with AVX2")
PROCESSORS.add(
    replace(
        _X86_64,
        feature="avx512f",
        vector_bits=512,
        vector_registers=32,
        shares_issue=True,
        stores_parts=True,
        takes_pairs_apart=True,
        compared_bits=64,
        # AMD's: Intel's have the instruction, too, but half as many units for it.
        dot2_features=("avx512bf16", "sse4a"),
    ),
    "x86-64 with AVX-512",
)
PROCESSORS.add(
    Processor(
        "aarch64",
        vector_bits=128,
        vector_registers=32,
        has_maximum=True,
        f16_feature="",
        f16_rounding_feature="",
        rounding_feature="",
        dot4_features=("dotprod", "i8mm"),
        pause="call void @llvm.aarch64.hint(i32 1)",
    ),
    "AArch64",
)
PROCESSORS.add(
    Processor(
        "riscv64",
        f16_feature="zfhmin",
        f16_rounding_feature="zfh",
        rounding_feature="f",
        # What Linux distributions are built for, and what Clang assumes for such a triple. Without floats in registers,
        # functions would have another calling convention, and not link with others.
        assumed="+m,+a,+f,+d,+c",
    ),
    "RISC-V",
)

_WASM = Processor("wasm32", has_maximum=True, rounding_feature="")

PROCESSORS.add(_WASM, "WebAssembly")
PROCESSORS.add(replace(_WASM, feature="simd128", vector_bits=128, vector_registers=16), "WebAssembly with SIMD")


def architecture_of(triple: str) -> str:
    """Return the architecture that a triple names, as LLVM normalizes it."""
    return _parts_of(triple).Arch


@cache
def _parts_of(triple: str) -> Any:
    """Return the parts of a triple, as LLVM normalizes them: requested for each loop function, they take LLVM 0.1
    ms."""
    # Imported here so that the tools start without LLVM.
    from relex.dialects.target.llvm_binding import llvm

    return llvm.get_triple_parts(triple)


def features_of(target: Target) -> str:
    """Return the features of code for a target: its own, after those that its triple implies."""
    baseline = baseline_of(target.triple)
    has_its_own = target.cpu or _parts_of(target.triple).OS == "unknown"
    return ",".join(filter(None, (baseline.tuning, "" if has_its_own else baseline.assumed, target.features)))


def processors_for(triple: str) -> list[Processor]:
    """Return the kinds of processors of an architecture, those with the widest vectors first."""
    architecture = architecture_of(triple)
    found = [processor for processor in PROCESSORS.values() if processor.architecture == architecture]
    return sorted(found, key=lambda processor: -processor.vector_bits)


def processor_of(target: Target) -> Processor | None:
    """Return the processor with the widest vectors that all machines of a target have, or None if there is none. Its
    features for tiles and for `tir.dot2` are those that the target has."""
    from relex.dialects.target.features import has_feature

    kinds = [kind for kind in processors_for(target.triple) if kind.vector_bits]
    found = next((kind for kind in kinds if not kind.feature or has_feature(target, kind.feature)), None)
    return None if found is None else _with_units_of(target, found)


@cache
def _with_units_of(target: Target, kind: Processor) -> Processor:
    """Return a processor with the features for tiles and for `tir.dot2` that a target has."""
    from relex.dialects.target.features import has_feature

    of_tiles = tuple(name for name in kind.tile_features if has_feature(target, name))
    has_dot2 = all(has_feature(target, name) for name in kind.dot2_features)
    return replace(kind, tile_features=of_tiles, dot2_features=kind.dot2_features if has_dot2 else ())


def baseline_of(triple: str) -> Processor:
    """Return the common features of all processors of an architecture; of an architecture without a record, none."""
    return next((kind for kind in processors_for(triple) if not kind.feature), Processor(architecture_of(triple)))
