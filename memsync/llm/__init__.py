"""Asking a language model, within a time and a budget."""
