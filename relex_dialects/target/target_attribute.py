"""The compilation target of a module.

It is the module attribute `relex.target`, set by the first pass of the default pipeline, so that the text carries it.
A processor stands for its features; others are listed:

```mlir
builtin.module attributes {relex.target = {triple = "x86_64-unknown-linux-gnu", cpu = "skylake-avx512",
                                           features = "+avx2,+avx512f"}} {}
```
"""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr

from relex.dialects.errors import fail
from relex.dialects.target.machine import Target as Target
from relex.dialects.target.processors import Processor, processor_of
from relex.dialects.target.short_targets import full_target, short_target

TARGET_ATTR = "relex.target"


def get_target(module: ModuleOp) -> Target | None:
    """Return the target that the module names, or None."""
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
    target = Target(**fields)
    return full_target(target) if target.features else target


def processor_in(module: ModuleOp) -> Processor | None:
    """Return the processor that a module is compiled for; None if it names no target, or one without a record."""
    target = get_target(module)
    return processor_of(target) if target is not None else None


def set_target(module: ModuleOp, target: Target) -> None:
    """Set the target of a module."""
    target = short_target(target)
    fields = {"triple": target.triple, "cpu": target.cpu, "features": target.features}
    module.attributes[TARGET_ATTR] = DictionaryAttr({name: StringAttr(value) for name, value in fields.items()})
