"""What xDSL's parser, printer, verifier and dialects lack, and relex needs of them."""
