"""The agent clients that memsync knows: facts, what differs, and how each records its sessions."""
