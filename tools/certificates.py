"""`--certificate` and `--verify-certificate` of relex-opt."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.utils.arg_spec import ArgSpec

from relex.dialects.errors import CompileError, Diagnostic, RelexError
from relex.tools.diagnostics import ToolError, read_text, write_bytes
from relex.tools.pipelines import parse_passes

if TYPE_CHECKING:
    from relex.reference.proof.certificate import Certificate
    from relex.tools.checking import CheckOptions


@dataclass
class Certificates:
    """The certificate that a run writes, and the one that it verifies."""

    options: CheckOptions | None
    """The options of `--check-each`."""
    path: str | None = None
    verified: Certificate | None = None
    verified_path: str = ""
    current: Certificate | None = None

    @classmethod
    def of(cls, args: Namespace) -> Certificates:
        """Read the options. Raises `ToolError`."""
        if args.check_each is args.certificate is args.verify_certificate is None:
            return cls(None)
        from relex.tools.checking import PROOF, CheckOptions

        given = None if args.check_each is None else CheckOptions.parse(args.check_each)
        verified = None if args.verify_certificate is None else _read(args.verify_certificate)
        if verified is not None:
            if given is not None:
                raise ToolError("expected --verify-certificate alone, which has the options of --check-each")
            given = CheckOptions(verified.seed, verified.samples, proof=True)
        if args.certificate is not None and (given is None or not given.proof):
            raise ToolError(f"expected --certificate with --check-each={PROOF}")
        if (args.certificate is not None or verified is not None) and args.split_input_file:
            raise ToolError("expected one program for a certificate; it cannot be used with --split-input-file")
        return cls(given, args.certificate, verified, args.verify_certificate or "")

    def begin(self) -> Certificate | None:
        """Return the certificate that gets the steps of this run, if one is needed."""
        if self.options is None or (self.path is None and self.verified is None):
            return None
        from relex.reference.proof.certificate import Certificate
        from relex.version import __version__

        self.current = Certificate(__version__, self.options.seed, self.options.samples)
        return self.current

    def end(self) -> bytes | None:
        """Write the certificate. Return what to print in place of the program, if one was verified: raises
        `CompileError` if it does not hold."""
        if self.current is not None and self.path is not None:
            write_bytes(self.path, self.current.to_json().encode())
        if self.current is None or self.verified is None:
            return None
        if problems := list(self.verified.differences(self.current)):
            first, *others = problems
            raise CompileError(
                Diagnostic(f"the certificate does not hold: {first}", self.verified_path, notes=tuple(others))
            )
        return f"{self.verified_path} holds: {self.current.summary}\n".encode()


def passes_of_certificate(path: str, given: Sequence[ArgSpec]) -> list[ArgSpec]:
    """Return the passes of a certificate. Raises `ToolError` if there are others as well."""
    if given:
        raise ToolError("expected --verify-certificate without passes, which the certificate names")
    return [spec for step in _read(path).steps for spec in parse_passes(step.name)]


def _read(path: str) -> Certificate:
    from relex.reference.proof.certificate import Certificate

    _, text = read_text(path)
    try:
        return Certificate.from_json(text)
    except RelexError as e:
        raise ToolError(f"{path}: {e}") from e
