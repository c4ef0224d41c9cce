"""Headrace: the unblocked way from storage to GPU memory for PyTorch training."""

__all__ = ["__version__"]
__version__ = "0.1.0"
