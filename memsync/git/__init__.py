"""Between the store and git: hooks, the merge driver, commits, pushes."""
