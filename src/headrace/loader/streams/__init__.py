"""Datasets that can only be iterated over: their streams, dealt over ranks and workers."""
