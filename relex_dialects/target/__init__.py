"""Compilation targets: processors, their features, and the attribute that names them; LLVM as what knows the rest."""
