"""The agent clients that memsync knows: facts and what differs."""
