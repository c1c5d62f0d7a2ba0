"""Extensions of xDSL's parser, printer, verifier and dialects that relex needs."""
