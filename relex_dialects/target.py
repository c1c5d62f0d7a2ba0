"""The compilation target of a module.

It is the module attribute `relex.target`, set by the first pass of the default compilation, so that text carries it:

```mlir
builtin.module attributes {relex.target = {triple = "x86_64-unknown-linux-gnu", cpu = "skylake-avx512",
                                           features = "+avx2,+avx512f"}} {}
```
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr

from relex.dialects.errors import fail

TARGET_ATTR = "relex.target"


@dataclass(frozen=True)
class Target:
    """What to generate code for, in LLVM's terms."""

    triple: str
    cpu: str = ""
    features: str = ""

    @classmethod
    def host(cls) -> Target:
        """The machine that this process runs on."""
        import llvmlite.binding as llvm

        features = llvm.get_host_cpu_features()
        flags = ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(features.items()))
        return cls(llvm.get_process_triple(), llvm.get_host_cpu_name(), flags)

    @property
    def enabled(self) -> frozenset[str]:
        """The names of the CPU features that are switched on."""
        return frozenset(flag[1:] for flag in self.features.split(",") if flag.startswith("+"))

    def to_attr(self) -> DictionaryAttr:
        return DictionaryAttr(
            {"triple": StringAttr(self.triple), "cpu": StringAttr(self.cpu), "features": StringAttr(self.features)}
        )


def get_target(module: ModuleOp) -> Target | None:
    """The target that the module names, or None."""
    attr = module.attributes.get(TARGET_ATTR)
    if attr is None:
        return None
    if not isinstance(attr, DictionaryAttr):
        fail(module, f"expected attribute '{TARGET_ATTR}' to be a dictionary, found {attr}")
    fields: dict[str, str] = {}
    for key, value in attr.data.items():
        if key not in ("triple", "cpu", "features") or not isinstance(value, StringAttr):
            fail(module, f"expected strings 'triple', 'cpu', 'features' in '{TARGET_ATTR}', found {key} = {value}")
        fields[key] = value.data
    if "triple" not in fields:
        fail(module, f"expected a 'triple' in '{TARGET_ATTR}'")
    return Target(**fields)


def set_target(module: ModuleOp, target: Target) -> None:
    module.attributes[TARGET_ATTR] = target.to_attr()
