"""Headrace: the unblocked way from storage to GPU memory for PyTorch training."""
