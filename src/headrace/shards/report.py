"""What a check of a shard found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from headrace.errors import HeadraceError

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong (`"error"`) or unwise (`"warning"`) with a shard."""

    severity: Severity
    code: str
    """A short name of the kind: the error's class, or `interleaved`, `several-archives`, `stale-index`, ..."""
    message: str
    where: Mapping[str, Any] = field(default_factory=dict)
    """Any of `offset` (bytes), `key`, `field`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What `verify_shard` found."""

    shard: str
    size_bytes: int
    num_samples: int
    """Whole samples."""
    num_members: int
    findings: tuple[Finding, ...]
    md5: str | None = None
    """md5 of the shard, where there was one to compare it with."""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What makes the shard unusable, or a promise broken."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What works but is unwise."""
        return tuple(finding for finding in self.findings if finding.severity == "warning")

    @property
    def is_sound(self) -> bool:
        """Whether there is no error."""
        return not self.errors


def finding_of(error: HeadraceError) -> Finding:
    """A finding from an error."""
    where = {name: value for name, value in error.where.items() if name != "shard"}
    return Finding(severity="error", code=type(error).__name__, message=str(error), where=where)


def warning(code: str, message: str, **where: Any) -> Finding:
    """A warning."""
    return Finding(severity="warning", code=code, message=message, where=where)
