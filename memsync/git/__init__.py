"""Everything that runs git. `repo.py` is the only importer of GitPython, inside functions."""
