"""The readers of program files that relex has, of text and of other files, as `module:name` by file suffix: each is
imported on first use."""

PROGRAM_READERS = {
    "mlir": "relex.dialects.readers:read_mlir",
    "py": "relex.frontend.script:parse_script",
}

BINARY_READERS = {"onnx": "relex.frontend.onnx:read_onnx", "pt2": "relex.frontend.torch:read_exported"}
