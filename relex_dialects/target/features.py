"""CPU features of compilation targets, as known to LLVM.

A cpu name stands for a set of features, and LLVM has no function that lists them. But its inliner knows them: it
inlines a function into another only if the caller's target has every feature of the callee's.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from xdsl.dialects.builtin import ModuleOp

from relex.dialects.exceptions import DTypeError, UnknownNameError
from relex.dialects.target.code_generators import code_generator, optimize, parsed_ir
from relex.dialects.target.processors import architecture_of, baseline_of, features_of
from relex.dialects.target.target_attribute import Target, get_target

VARIABLE = "RELEX_CPU"
"""The environment variable that names the processor to compile for if neither program nor caller names a target."""

_TRIAL = """
import sys
import llvmlite.binding as llvm
triple, cpu, features = sys.argv[1:]
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
machine = llvm.Target.from_triple(triple).create_target_machine(cpu, features, reloc="pic", codemodel="default")
module = llvm.parse_assembly("define void @f(ptr %p, ptr %q) { %x = load i64, ptr %p store i64 %x, ptr %q ret void }")
module.triple, module.data_layout = machine.triple, str(machine.target_data)
try:
    machine.emit_object(module)
except RuntimeError as e:
    sys.exit(str(e))
"""
"""A script that compiles for a target. It runs in its own process: for an invalid target LLVM exits, or writes to
stderr."""

_FLAG = re.compile(r"[+-][A-Za-z0-9][A-Za-z0-9._-]*")
_UNKNOWN = re.compile(r"'(.*)' is not a recognized (processor|feature)")


def default_target() -> Target:
    """Return the default target: this machine, with the processor that `RELEX_CPU` names if it is set. Raises
    `UnknownNameError` if LLVM does not know that processor."""
    host, cpu = Target.host(), os.environ.get(VARIABLE)
    if not cpu:
        return host
    target = Target(host.triple, cpu)
    try:
        check_target(target)
    except UnknownNameError as e:
        raise UnknownNameError(f"expected {VARIABLE} to name a processor, found '{cpu}': {e}") from e
    return target


def module_target(module: ModuleOp) -> Target:
    """Return the target that a module names, or the default target."""
    return get_target(module) or default_target()


def as_target(target: object) -> Target | None:
    """Convert what callers may pass as a target: a `Target`, a text `TRIPLE[:CPU[:FEATURES]]` (`host` is the triple of
    this machine, alone all of it), "llvm" for this machine, or None. Raises `DTypeError` for anything else,
    `UnknownNameError` for triples, processors and features that LLVM lacks."""
    match target:
        case None:
            return None
        case Target():
            found = target
        case "llvm":
            found = default_target()
        case "host":
            found = Target.host()
        case str():
            triple, cpu, features = (*target.split(":", 2), "", "")[:3]
            found = Target(Target.host().triple if triple == "host" else triple, cpu, features)
        case _:
            expected = f"a Target, a text such as '{Target.host().triple}:haswell', or 'llvm' for this machine"
            raise DTypeError(f"expected target to be {expected}, found {type(target).__name__}")
    check_target(found)
    return found


@lru_cache(maxsize=64)
def check_target(target: Target) -> None:
    """Raise `UnknownNameError` unless LLVM knows a target's triple, cpu and features and can generate code for it."""
    if ":" in target.triple:
        raise UnknownNameError(f"expected a triple without ':', found '{target.triple}'")
    code_generator(target.triple)
    if target == Target.host():
        return
    for flag in target.features.split(",") if target.features else ():
        # LLVM exits on a flag without a sign.
        if not _FLAG.fullmatch(flag):
            raise UnknownNameError(f"expected features such as '+avx2,-fma', found '{flag}' in '{target.features}'")
    command = [sys.executable, "-c", _TRIAL, target.triple, target.cpu, target.features]
    trial = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if unknown := _UNKNOWN.search(trial.stderr):
        kind = "cpu" if unknown[2] == "processor" else "feature"
        raise UnknownNameError(f"unknown {kind} '{unknown[1]}' for triple '{target.triple}'")
    if trial.returncode or trial.stderr:
        reason = trial.stderr.strip().splitlines() or ["it ends the process"]
        raise UnknownNameError(f"LLVM makes no code for {_shown(target)}: {reason[0]}")


@lru_cache(maxsize=64)
def has_feature(target: Target, feature: str) -> bool:
    """Return whether every machine of `target` has `feature` (an LLVM name such as `avx2`)."""
    host = Target.host()
    if target == host:
        return feature in host.enabled
    check_target(target)
    return feature in features_among(target, (feature,))


def has_feature_of(target: Target, architecture: str, feature: str) -> bool:
    """Return whether every machine of a target is of an architecture, and has a feature of it."""
    return architecture_of(target.triple) == architecture and has_feature(target, feature)


def provides(target: Target, feature: str | None) -> bool:
    """Return whether a target has a feature as the record of a processor names it: empty for what every machine has,
    None for what none has."""
    return feature is not None and (not feature or has_feature(target, feature))


@lru_cache(maxsize=64)
def used_features(target: Target) -> frozenset[str]:
    """Return the features that code for a target may use, among those that LLVM reports for this machine. For a target
    of another architecture, return those that it enables explicitly."""
    host = Target.host()
    if architecture_of(target.triple) != architecture_of(host.triple):
        return target.enabled
    privileged = baseline_of(host.triple).privileged
    if target == host:
        return host.enabled.difference(privileged)
    check_target(target)
    known = {flag[1:] for flag in host.features.split(",") if flag}
    return features_among(target, sorted(known.difference(privileged)))


def features_among(target: Target, candidates: Sequence[str]) -> frozenset[str]:
    """Return the candidates that every machine of a valid target has."""
    # Of the same cpu: others have their own preferences, which AArch64 takes for features.
    given = f"{target.features}," if target.features else ""
    pairs = [(replace(target, features=f"{given}+{name}"), target) for name in candidates]
    return frozenset(name for name, found in zip(candidates, _inlines(target.triple, pairs), strict=True) if found)


def is_same_machine(target: Target, other: Target) -> bool:
    """Return whether two targets have the same features."""
    return all(_inlines(target.triple, [(target, other), (other, target)]))


def _inlines(triple: str, pairs: Iterable[tuple[Target, Target]]) -> list[bool]:
    """Return for each pair whether a function for the first target is inlined into one for the second."""
    pairs = [(callee, replace(caller, features=features_of(caller))) for callee, caller in pairs]
    functions: list[str] = [f'target triple = "{triple}"']
    for i, (callee, caller) in enumerate(pairs):
        functions += [
            f"define void @callee{i}(ptr %p) {_attributes(callee)} {{ store i8 0, ptr %p\n ret void }}",
            f"define void @caller{i}(ptr %p) {_attributes(caller)} {{ call void @callee{i}(ptr %p)\n ret void }}",
        ]
    with parsed_ir("\n".join(functions)) as module:
        optimize(module, code_generator(triple).create_target_machine(), 1)
        callers = (function for function in module.functions if function.name.startswith("caller"))
        return [
            all(instruction.opcode != "call" for block in function.blocks for instruction in block.instructions)
            for function in callers
        ]


def _attributes(target: Target) -> str:
    return f'"target-cpu"="{target.cpu}" "target-features"="{target.features}"'


def _shown(target: Target) -> str:
    parts = (f"cpu '{target.cpu}'" * bool(target.cpu), f"features '{target.features}'" * bool(target.features))
    return ", ".join([f"triple '{target.triple}'", *filter(None, parts)])
