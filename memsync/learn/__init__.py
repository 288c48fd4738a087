"""What learns: an optional LLM, sessions and codebases."""
