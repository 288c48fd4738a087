"""The format of memory files: lines, canonical form, merging. Works on bytes, and opens no file."""
