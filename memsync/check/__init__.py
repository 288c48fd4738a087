"""Whether what instruction files say of the repository is so."""
