"""One line of a file and many of them: reading, canonical form, merging. Knows no file."""
