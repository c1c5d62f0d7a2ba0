"""What the machines of a compilation target can do, asked of LLVM itself.

A cpu name stands for a set of features, and LLVM has no function that lists them. But its inliner knows them: one
function is inlined into another only if the machine of the caller has every feature of the machine of the callee.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

import llvmlite.binding as llvm

from relex.dialects.exceptions import UnknownNameError
from relex.dialects.machine import Target

_NEVER_GENERATED = frozenset(
    "cldemote clflushopt clwb clzero enqcmd fsgsbase hreset invpcid kl lwp movdir64b movdiri mwaitx pconfig pku prfchw "
    "ptwrite raoint rdpid rdpru rdrnd rdseed rtm serialize sgx shstk tsxldtrk uintr usermsr waitpkg wbnoinvd widekl "
    "xsave xsavec xsaveopt xsaves".split()
)
"""Features for instructions that only an explicit request produces; virtual machines often hide them."""


_FLAG = re.compile(r"[+-][A-Za-z0-9][A-Za-z0-9._-]*")


@cache
def native_target(triple: str) -> llvm.Target:
    """LLVM's code generator for a triple; raises `UnknownNameError` when there is none."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        return llvm.Target.from_triple(triple)
    except RuntimeError as e:
        raise UnknownNameError(f"no code generator for triple '{triple}': {str(e).strip()}") from e


@lru_cache(maxsize=64)
def check_target(target: Target) -> None:
    """Raise `UnknownNameError` unless LLVM knows the triple and the cpu of `target` and can read its features."""
    native_target(target.triple)
    for flag in target.features.split(",") if target.features else ():
        # LLVM ends the process over a feature without a sign, and over x86-64 code without 64 bits.
        if not _FLAG.fullmatch(flag) or (flag == "-64bit" and _is_x86_64(target.triple)):
            raise UnknownNameError(f"expected features such as '+avx2,-fma', found '{flag}' in '{target.features}'")
    # LLVM ends the process when it generates 64-bit x86 code for a cpu that it does not know.
    if not _is_x86_64(target.triple) or not target.cpu:
        return
    if not _inlines(target.triple, [(Target(target.triple, "x86-64"), Target(target.triple, target.cpu))])[0]:
        raise UnknownNameError(f"unknown cpu '{target.cpu}' for triple '{target.triple}'")


@lru_cache(maxsize=64)
def has_feature(target: Target, feature: str) -> bool:
    """Whether every machine of `target` has `feature` (a name of LLVM's, such as `avx2`)."""
    return feature in _features_among(target, (feature,))


@lru_cache(maxsize=64)
def used_features(target: Target) -> frozenset[str]:
    """The features that code for a target may use, among those that LLVM tells of the machine that this runs on."""
    host = Target.host()
    if target == host:
        return host.enabled - _NEVER_GENERATED
    known = (flag[1:] for flag in host.features.split(",") if flag)
    return _features_among(target, sorted(frozenset(known) - _NEVER_GENERATED))


def _features_among(target: Target, candidates: Sequence[str]) -> frozenset[str]:
    check_target(target)
    pairs = [(Target(target.triple, "", f"+{name}"), target) for name in candidates]
    return frozenset(name for name, found in zip(candidates, _inlines(target.triple, pairs), strict=True) if found)


def _inlines(triple: str, pairs: Iterable[tuple[Target, Target]]) -> list[bool]:
    """For each pair: is a function for the first target inlined into one for the second?"""
    functions: list[str] = [f'target triple = "{triple}"']
    for i, (callee, caller) in enumerate(pairs):
        functions += [
            f"define void @callee{i}(ptr %p) {_attributes(callee)} {{ store i8 0, ptr %p\n ret void }}",
            f"define void @caller{i}(ptr %p) {_attributes(caller)} {{ call void @callee{i}(ptr %p)\n ret void }}",
        ]
    module = llvm.parse_assembly("\n".join(functions))
    builder = llvm.create_pass_builder(
        native_target(triple).create_target_machine(), llvm.create_pipeline_tuning_options(speed_level=1)
    )
    builder.getModulePassManager().run(module, builder)
    callers = (function for function in module.functions if function.name.startswith("caller"))
    return [
        all(instruction.opcode != "call" for block in function.blocks for instruction in block.instructions)
        for function in callers
    ]


def _attributes(target: Target) -> str:
    # An unknown cpu is no 64-bit machine to LLVM, which is fatal even here.
    features = f"+64bit,{target.features}" if _is_x86_64(target.triple) else target.features
    return f'"target-cpu"="{target.cpu}" "target-features"="{features.rstrip(",")}"'


def _is_x86_64(triple: str) -> bool:
    return triple.startswith(("x86_64", "amd64"))
