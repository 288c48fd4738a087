"""The desk: pages in a browser over the same calls as the command line, for this machine's user alone."""
