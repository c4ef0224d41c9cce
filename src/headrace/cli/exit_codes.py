"""What the exit status of `headrace` means; `docs/reference/command-line.md` has the same table."""

from __future__ import annotations

from enum import IntEnum

from headrace.errors import (
    HeadraceError,
    IndexFormatError,
    OptionError,
    SampleError,
    ShardError,
    SourceError,
    StorageError,
    WriteError,
)


class ExitCode(IntEnum):
    """Exit status of every command."""

    OK = 0
    """Done, and nothing was found."""
    FINDINGS = 1
    """Done, and faults were found (`verify`)."""
    USAGE = 2
    """An option, argument or value that is not accepted."""
    BAD_INPUT = 3
    """A source or shard that is missing, empty, damaged or inconsistent."""
    STORAGE = 4
    """A file that cannot be read or written, or a full disk."""
    FAILED = 5
    """Any other error that headrace raises on purpose."""
    INTERNAL = 70
    """An error that headrace did not foresee: please report it."""
    INTERRUPTED = 130
    """Ctrl-C."""


BY_ERROR: tuple[tuple[type[HeadraceError], ExitCode], ...] = (
    (OptionError, ExitCode.USAGE),
    (StorageError, ExitCode.STORAGE),
    (SourceError, ExitCode.BAD_INPUT),
    (ShardError, ExitCode.BAD_INPUT),
    (IndexFormatError, ExitCode.BAD_INPUT),
    (SampleError, ExitCode.BAD_INPUT),
    (WriteError, ExitCode.BAD_INPUT),
    (HeadraceError, ExitCode.FAILED),
)


def exit_code(error: HeadraceError) -> ExitCode:
    """The exit status that an error leads to."""
    return next(code for kind, code in BY_ERROR if isinstance(error, kind))
