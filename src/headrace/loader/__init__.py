"""The loader: options, composition, iteration, explanation."""

from headrace.loader.data_loader import DataLoader

__all__ = ["DataLoader"]
