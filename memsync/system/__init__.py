"""The machine around us: starting programs, clocks, limits, owners, links. What a stranger may put there is not trusted."""
