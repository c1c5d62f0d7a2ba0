"""The lexer of MLIR text."""

from __future__ import annotations

import re

from xdsl.utils.mlir_lexer import MLIRLexer


class Lexer(MLIRLexer):
    """xDSL's lexer, without its exponential time in the length of an unterminated string."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')
