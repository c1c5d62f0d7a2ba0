from xdsl.universe import Universe

RELEX_UNIVERSE = Universe()
