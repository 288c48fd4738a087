"""The in-memory index. It knows records, not files, and can be rebuilt from them at any time."""
