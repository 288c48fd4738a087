"""Recorded sessions of agent clients, read as one stream of events."""
