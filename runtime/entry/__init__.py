"""Fast path: a call that matches an earlier, validated one enters compiled code without running Python."""
