"""A file that stops at a wrong registration."""

from relex.runtime import register_func

register_func("", print)
