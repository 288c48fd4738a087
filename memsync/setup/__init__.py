"""What `init`, `uninstall`, `doctor` and `demo` do, and the settings of the clients."""
