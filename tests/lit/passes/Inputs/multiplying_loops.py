"""The loops of an assembly program that multiply vectors: how many multiplications and loads each has, and how many of
its instructions use the stack. For x86-64 and AArch64."""

import re
import sys

JUMP = re.compile(r"\t(j\w+|b\.\w+|cbn?z|tbn?z)\t(?:.*, )?(\.L\w+)\s*")
MULTIPLICATION = re.compile(r"vfmadd|mulp|fmla")
STACK = re.compile(r"\(%rsp|\[sp")
LOAD = re.compile(r"\w+\t.*\(.*\)(?:\{1to\d+\})?, %[xyz]mm|ldr?\w*\t[vqsd].*\[|ldp\t[qsd].*\[")


def loops(lines: list[str]) -> list[list[str]]:
    """The instructions of each block that ends with a jump back to its own label."""
    found: list[list[str]] = []
    label, block = "", list[str]()
    for line in lines:
        if match := re.match(r"(\.L\w+):", line):
            label, block = match.group(1), []
        elif line.startswith("\t") and not line.startswith("\t."):
            block.append(line.strip())
            if (jump := JUMP.match(line)) and jump.group(2) == label:
                found.append(block)
                label, block = "", []
    return found


for block in loops(sys.stdin.read().splitlines()):
    multiplications = sum(bool(MULTIPLICATION.search(line)) for line in block)
    stack = [line for line in block if STACK.search(line)]
    loads = [re.match(r"ldp", line) is not None for line in block if LOAD.match(line) and line not in stack]
    if multiplications:
        print(f"{multiplications} multiplications, {len(loads) + sum(loads)} loads, {len(stack)} on the stack")
