"""The readers of program files that relex has, as `module:name` by file suffix: each is imported on first use."""

PROGRAM_READERS = {
    "mlir": "relex.dialects.readers:read_mlir",
    "py": "relex.frontend.script:parse_script",
}
