"""Descriptors 0, 1 and 2 of a program that was started without them."""

from __future__ import annotations

import os

LAST_STANDARD = 2


def occupy_standard_streams() -> None:
    """Opens those of stdin, stdout and stderr that are closed, on nothing.

    The system gives the lowest free number to what is opened next. No socket or file of ours may get one of these: a
    worker is started with a stdin of its own, and whatever a library writes to stderr would go into the file.
    """
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= LAST_STANDARD:
        descriptor = os.open(os.devnull, os.O_RDWR)
    os.close(descriptor)
