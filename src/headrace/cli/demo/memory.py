"""How much memory a family of processes holds, with what they share counted once."""

from __future__ import annotations

import psutil


def family_memory_bytes(pid: int) -> int:
    """Memory of a process and all its descendants, in bytes.

    Where the system knows it (Linux), the proportional set size: each shared page is split between those who share it.
    Elsewhere the unique set size, which leaves shared pages out. A process that ends meanwhile counts as nothing.
    """
    try:
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    return sum(map(process_memory_bytes, family))


def process_memory_bytes(process: psutil.Process) -> int:
    """Memory of one process, in bytes; 0 if it has ended."""
    try:
        memory = process.memory_full_info()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0
    return int(getattr(memory, "pss", 0) or memory.uss)
