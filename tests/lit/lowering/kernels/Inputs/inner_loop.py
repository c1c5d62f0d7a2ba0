"""What the busiest loop of an assembly program does with vectors: how many instructions of each kind it has."""

import re
import sys
from collections import Counter


def loops(lines: list[str]) -> list[list[str]]:
    """The instructions of each block that ends with a jump back to its own label."""
    found: list[list[str]] = []
    label, block = "", list[str]()
    for line in lines:
        if match := re.match(r"(\.L\w+):", line):
            label, block = match.group(1), []
        elif line.startswith("\t") and not line.startswith("\t."):
            block.append(line.strip())
            if re.fullmatch(rf"\tj\w+\t{re.escape(label)}\s*", line):
                found.append(block)
                label, block = "", []
    return found


def kind(instruction: str) -> str:
    name, _, operands = instruction.partition("\t")
    *sources, last = operands.split(", ")
    reads = any("(" in part or ")" in part for part in sources)
    if "(%rsp" in operands:
        return "stack"
    if name.startswith("vmov"):
        return "load" if reads else "store" if ")" in last else "move"
    if name.startswith("vbroadcast"):
        return "broadcast"
    short = "fma" if name.startswith("vfmadd") else name
    return f"{short} from memory" if reads else short


busiest = max(loops(sys.stdin.read().splitlines()), key=lambda block: sum(i.startswith("v") for i in block))
counts = Counter(kind(instruction) for instruction in busiest if instruction.startswith("v"))
print(", ".join(f"{counts[name]} {name}" for name in sorted(counts)))
