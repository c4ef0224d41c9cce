"""The loader: options, composition, state."""
