"""The options of `--check-each`."""

from __future__ import annotations

from dataclasses import dataclass

from relex.tools.options.arguments import parse_numbers
from relex.tools.shell.diagnostics import ToolError

PROOF = "proof"
"""The option of `--check-each` that asks for proofs."""

TERMS = "terms"
"""The option of `--check-each` that prints terms that differ in full."""


@dataclass(frozen=True)
class CheckOptions:
    """The options of `--check-each`."""

    seed: int = 0
    samples: int = 3
    seconds: int = 60
    """The processor time that the proofs of a function may take."""
    proof: bool = False
    terms: bool = False
    """Whether terms that differ in a proof are printed in full."""

    @classmethod
    def parse(cls, text: str) -> CheckOptions:
        """Read `proof,terms,seed:0,samples:3,seconds:60`, any of which may be missing. Raises `ToolError`."""
        parts = text.split(",")
        numbers = parse_numbers(
            "--check-each", ",".join(p for p in parts if p not in (PROOF, TERMS)), ("seed", "samples", "seconds")
        )
        if numbers.get("samples") == 0:
            raise ToolError("expected --check-each with one sample or more, found 0")
        if TERMS in parts and PROOF not in parts:
            raise ToolError(f"expected --check-each={PROOF},{TERMS}, found '{TERMS}' alone: only proofs have terms")
        return cls(**numbers, proof=PROOF in parts, terms=TERMS in parts)

    def __str__(self) -> str:
        words = [word for word, given in ((PROOF, self.proof), (TERMS, self.terms)) if given]
        seconds = f",seconds:{self.seconds}" if self.seconds != CheckOptions.seconds else ""
        return f"{''.join(f'{word},' for word in words)}seed:{self.seed},samples:{self.samples}{seconds}"
