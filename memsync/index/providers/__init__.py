"""Embedders that a user may choose instead of the builtin one."""
