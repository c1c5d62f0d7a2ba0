"""What passes of the lowering share: values of sizes, and where the init of a block runs."""
