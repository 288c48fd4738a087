"""How right `memsync check` is on public repositories: lines that a person judged, at the commits that were read."""
