"""Exit codes mean something."""

from __future__ import annotations

import pytest

from headrace import errors
from headrace.cli.exit_codes import ExitCode, exit_code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.OptionError, 2),
        (errors.SourceError, 3),
        (errors.TruncatedShardError, 3),
        (errors.IndexFormatError, 3),
        (errors.CorruptImageError, 3),
        (errors.KeyRefusedError, 3),
        (errors.StorageError, 4),
        (errors.DiskFullError, 4),
        (errors.WorkerError, 5),
        (errors.RankMismatchError, 5),
    ],
)
def test_each_error_has_its_code(error, code):
    assert exit_code(error("something happened")) == code


def test_every_error_of_headrace_has_a_code():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(kinds) > 30
    assert all(exit_code(kind("x")) in ExitCode for kind in kinds)
