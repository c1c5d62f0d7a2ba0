"""The contents of the package. Every xDSL tool imports this module when it starts, so the rest is imported on first
use."""

from importlib import import_module

from xdsl.universe import Universe


def _get_mobile():
    from relex_mobile.dialect import Mobile

    # The lowering registers itself with relex.
    import_module("relex_mobile.lowering")
    return Mobile


def _get_fuse_hard_swish():
    from relex_mobile.fuse_hard_swish import FuseHardSwishPass

    return FuseHardSwishPass


UNIVERSE = Universe(
    all_dialects={"mobile": _get_mobile},
    all_passes={"fuse-hard-swish": _get_fuse_hard_swish},
)
