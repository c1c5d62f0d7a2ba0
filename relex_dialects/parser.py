"""The parser of MLIR text.

It differs from xDSL's in that every op gets its source location, that errors are `CompileError`s, and that dense
constants are read as in MLIR: a hexadecimal number among floats (`dense<[0x7FC00000]>`) is a bit pattern.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ParseError

from relex.dialects.context import make_context
from relex.dialects.errors import CompileError, Diagnostic, add_source, expect_kind
from relex.dialects.upstream.parser import RelexParser
from relex.dialects.upstream.syntax_errors import explain, python_notes
from relex.dialects.upstream.verifier import verify_module


def parse_module(
    text: str, name: str = "<string>", *, context: Context | None = None, verify: bool = True, line_offset: int = 0
) -> ModuleOp:
    """Parse MLIR text into a verified module.

    `name` is the file name for locations and errors, `line_offset` is added to every line number.
    Raises `CompileError` when the text does not parse or the module does not verify.
    """
    expect_kind(text, str, "MLIR text")
    parser: RelexParser | None = None
    try:
        parser = RelexParser(context or make_context(), text, name, line_offset)
        module = parser.parse_module()
    except ParseError as e:
        # If even the first token is invalid, there is no parser.
        parts = explain(e, parser.next_token if parser else None)
        places = [(part.msg, part.span.get_location()) for part in parts]
        found = [Diagnostic(message, name, place.line + line_offset, place.col) for message, place in places]
        found[0] = replace(found[0], notes=python_notes(text))
        raise CompileError([add_source(d, text, line_offset) for d in found]) from e
    except Exception as e:
        if parser is None:
            raise
        # Some of xDSL's parsing functions construct attributes and ops that reject their parameters.
        raise CompileError(add_source(parser.diagnose(e), text, line_offset)) from e
    if verify:
        verify_module(module, text, line_offset)
    return module
