"""A process that compiles LLVM IR for another one: `python -m relex.lowering.llvm.code_generator.worker`.

It reads jobs from its input until that ends, and writes an answer to each. Both are a line of JSON, then as many bytes
as it says. Only LLVM is imported, so that it starts in a tenth of a second.
"""

from __future__ import annotations

import json
import sys
from typing import IO, Any

from relex.dialects.target.machine import Target


def send(stream: IO[bytes], head: dict[str, Any], data: bytes) -> None:
    """Write a message."""
    stream.write(json.dumps({**head, "size": len(data)}).encode() + b"\n")
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[dict[str, Any], bytes] | None:
    """Read a message; None at the end. Raises `ValueError` if it is not complete."""
    line = stream.readline()
    if not line:
        return None
    head: dict[str, Any] = json.loads(line)
    data = stream.read(head["size"])
    if len(data) != head["size"]:
        raise ValueError(f"expected {head['size']} bytes, found {len(data)}")
    return head, data


def main() -> None:
    """Compile until the input ends."""
    from relex.lowering.llvm.code_generator.compile_ir import CompileJob, compile_source

    while (job := receive(sys.stdin.buffer)) is not None:
        head, text = job
        emitted = compile_source(CompileJob(text.decode(), Target(**head["target"]), head["level"]))
        facts = {"functions": emitted.functions, "imports": emitted.imports}
        send(sys.stdout.buffer, facts, emitted.code)


if __name__ == "__main__":
    main()
