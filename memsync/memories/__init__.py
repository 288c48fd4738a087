"""The project and its memories as plain calls."""
