"""The agent clients that memsync knows: one small file each, of facts and what differs."""
