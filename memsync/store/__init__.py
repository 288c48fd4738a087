"""Files that survive a crash, where they are, the settings, local state, and the checkout around them."""
