"""Memories as git has them."""
