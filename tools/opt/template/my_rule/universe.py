"""The contents of the package. Every xDSL tool imports this module when it starts, so the pass is imported on first
use."""

from xdsl.universe import Universe


def _get_my_rule():
    from my_rule.my_rule import MyRulePass

    return MyRulePass


UNIVERSE = Universe(all_passes={"my-rule": _get_my_rule})
