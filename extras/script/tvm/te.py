"""`tvm.te`: tensor expressions."""

from relex.lowering.te import *  # noqa: F403
