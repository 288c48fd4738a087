"""What an agent is given in a session, by the hooks of its client; and how well that goes."""
