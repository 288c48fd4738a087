"""SKILL.md: reading, checking, editing, merging, finding."""
