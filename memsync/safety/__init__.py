"""What must not be written down, and what an agent must not obey: secrets, and texts that read like orders."""
