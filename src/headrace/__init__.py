"""Headrace: the unblocked way from storage to GPU memory for PyTorch training."""

__version__ = "0.1.0"
