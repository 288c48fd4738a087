"""Memories of other tools, and copies for them."""
