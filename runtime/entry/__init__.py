"""From Python into compiled code without Python on the way: calls of a kind that has been checked before."""
