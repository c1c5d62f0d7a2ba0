"""Text to tokens."""

from __future__ import annotations

import re

from xdsl.utils.mlir_lexer import MLIRLexer


class Lexer(MLIRLexer):
    """xDSL's lexer, which needs time exponential in the length of a string that is not closed."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')
