"""Every exception that headrace raises on purpose.

The tree::

    HeadraceError
    ├── OptionError (ValueError)            an argument that is not accepted
    │   └── OptionTypeError (TypeError)     one of a type that is not accepted
    ├── StorageError (OSError)              a file that cannot be opened, read or written; often worth a retry
    │   └── DiskFullError
    ├── ShardError                          a shard that is not whole and well-formed
    │   ├── NotATarError                    an empty file, a web page, anything that is no tar
    │   ├── TruncatedShardError             cut short: in a header, in data, in padding, before the end blocks
    │   ├── CorruptShardError               a wrong header checksum, bytes after the end, a bad compressed stream
    │   ├── InterleavedSampleError          the members of one key lie apart, read as a stream
    │   ├── DuplicateFieldError             one field twice in one sample, or a reserved name
    │   ├── UnresolvedLinkError             a link to something outside the shard, or to nothing
    │   ├── UnsupportedMemberError          a sparse member, a device, a type that no tar defines
    │   └── ShardChangedError               the shard is not the one that its index or the dataset index describes
    ├── IndexFormatError                    an index file that is not valid or of a newer format
    ├── SampleError                         the content of one sample; `on_error="skip"` covers exactly these
    │   ├── MissingFieldError
    │   ├── DecodeError
    │   │   ├── CorruptImageError
    │   │   ├── UnsupportedImageError
    │   │   ├── ImageLimitError             over a limit on pixels, scans or memory, refused before allocation
    │   │   └── LabelError                  a label that no class has, or that is no label
    │   ├── UnsafeFieldError                a field whose decoding could run code
    │   ├── TransformError                  a transform of the user raised (its exception is the `__cause__`)
    │   └── CollateError                    samples of one batch that do not fit together
    ├── WriteError                          a sample that cannot be written so that it reads back the same
    │   └── KeyRefusedError
    ├── SourceError                         what is to be packed or opened is missing, empty or inconsistent
    ├── OrderError                          an order that cannot be made (a batch that does not divide, ...)
    ├── RankMismatchError                   the ranks of one job disagree
    ├── ResourceError                       this machine, its control group or a limit has less than is needed
    │   ├── MemoryBudgetError               memory: for a batch, or for the workers
    │   └── OpenFilesError                  open files
    ├── WorkerError                         a worker failed in a way that is no fault of a sample
    │   ├── WorkerDiedError                 a worker process was killed, crashed, or ended itself
    │   └── BatchTimeoutError (RuntimeError)    a batch has not come within `timeout=`
    └── LoaderClosedError                   a loader or iterator that is used after its end
        └── StaleIteratorError              a second `iter` has ended this one
"""

from __future__ import annotations

from typing import Any


class HeadraceError(Exception):
    """Base of all errors of headrace.

    The message is put together from parts, so that every error says what happened, the value received, what is
    accepted, what to do next, and where. Everything is kept as an attribute and survives pickling.

    Args:
        what: What happened, in one sentence without a full stop.
        got: The value received.
        accepted: What would have been accepted.
        remedy: What to do next.
        retryable: Whether doing the same again can help.
        where: Any of `shard`, `offset` (bytes), `key`, `field`, `row`, `rank`, `stage`, `path`, `last_key`.
    """

    def __init__(
        self,
        what: str,
        *,
        got: object = None,
        accepted: object = None,
        remedy: str | None = None,
        retryable: bool = False,
        **where: Any,
    ) -> None:
        self.what = what
        self.got = got
        self.accepted = accepted
        self.remedy = remedy
        self.retryable = retryable
        self.where: dict[str, Any] = {name: value for name, value in where.items() if value is not None}
        super().__init__(what)

    def __str__(self) -> str:
        text = self.what
        if self.where:
            text += " [" + ", ".join(f"{name}={one_line(str(value))}" for name, value in self.where.items()) + "]"
        if self.got is not None:
            text += f"; got {one_line(str(self.got))}"
        if self.accepted is not None:
            text += f"; accepted: {self.accepted}"
        if self.remedy is not None:
            text += f". {self.remedy}"
        return text

    def at(self, **where: Any) -> HeadraceError:
        """Adds places that only a caller knows (rank, shard, key, ...); names already known are kept."""
        for name, value in where.items():
            if value is not None:
                self.where.setdefault(name, value)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        state = (self.what, self.got, self.accepted, self.remedy, self.retryable, self.where)
        return _rebuild, (type(self), *state)


def printable(text: str) -> str:
    """The text with what a terminal would obey, or could not print, as escapes: names come from strangers.

    Line feeds stay; escapes are those of Python strings.
    """
    if text.isprintable():
        return text
    shown = (one if one.isprintable() or one == "\n" else one.encode("unicode_escape").decode() for one in text)
    return "".join(shown)


def one_line(text: str) -> str:
    """`printable` text with line feeds as escapes too: a name must not look like a line of ours."""
    return printable(text).replace("\n", "\\n")


def _rebuild(
    kind: type[HeadraceError],
    what: str,
    got: object,
    accepted: object,
    remedy: str | None,
    retryable: bool,  # noqa: FBT001 - pickle passes by position
    where: dict[str, Any],
) -> HeadraceError:
    return kind(what, got=got, accepted=accepted, remedy=remedy, retryable=retryable, **where)


class OptionError(HeadraceError, ValueError):
    """An argument that is not accepted."""


class OptionTypeError(OptionError, TypeError):
    """An argument of a type that is not accepted."""


class StorageError(HeadraceError, OSError):
    """A file that cannot be opened, read or written."""


class DiskFullError(StorageError):
    """No space is left where something is to be written."""


class ShardError(HeadraceError):
    """A shard that is not whole and well-formed."""


class NotATarError(ShardError):
    """An empty file, a web page, anything that is no tar."""


class TruncatedShardError(ShardError):
    """A shard that is cut short: in a header, in data, in padding, or before the end-of-archive blocks."""


class CorruptShardError(ShardError):
    """A wrong header checksum, bytes after the end blocks, a damaged compressed stream."""


class InterleavedSampleError(ShardError):
    """The members of one key lie apart and the shard is read as a stream."""


class DuplicateFieldError(ShardError):
    """One field twice in one sample, or a reserved name."""


class UnresolvedLinkError(ShardError):
    """A link to something outside the shard, to nothing, or in a circle."""


class UnsupportedMemberError(ShardError):
    """A sparse member, a device, or a member type that is not known."""


class ShardChangedError(ShardError):
    """The shard is not the one that its index or the dataset index describes."""


class IndexFormatError(HeadraceError):
    """An index file that is not valid, or of a newer format."""


class SampleError(HeadraceError):
    """A fault in the content of one sample; `on_error="skip"` covers exactly these."""


class MissingFieldError(SampleError):
    """A sample lacks a field that is asked for."""


class DecodeError(SampleError):
    """The bytes of a field cannot be decoded."""


class CorruptImageError(DecodeError):
    """An image that is damaged or cut short."""


class UnsupportedImageError(DecodeError):
    """Bytes that no decoder at hand knows as an image."""


class ImageLimitError(DecodeError):
    """An image over a limit (pixels, scans, decoder memory), refused before memory is taken."""


class LabelError(DecodeError):
    """A label that no class has, or a value that is no label."""


class UnsafeFieldError(SampleError):
    """A field whose decoding could run code, and that the user has not allowed."""


class TransformError(SampleError):
    """A transform of the user raised; its exception is the `__cause__`."""


class CollateError(SampleError):
    """Samples of one batch that do not fit together."""


class WriteError(HeadraceError):
    """A sample that cannot be written so that it reads back the same."""


class KeyRefusedError(WriteError):
    """A key that would read back differently."""


class SourceError(HeadraceError):
    """What is to be packed or opened is missing, empty or inconsistent."""


class OrderError(HeadraceError, ValueError):
    """An order that cannot be made."""


class RankMismatchError(HeadraceError):
    """The ranks of one job disagree."""


class ResourceError(HeadraceError):
    """This machine, its control group or a limit of this process has less than is needed."""


class MemoryBudgetError(ResourceError):
    """A batch, or the workers, need more memory than there is."""


class OpenFilesError(ResourceError):
    """More files would be open than the limit allows."""


class WorkerError(HeadraceError):
    """A worker failed in a way that is no fault of a sample."""


class WorkerDiedError(WorkerError):
    """A worker process was killed, crashed, or ended itself."""


class BatchTimeoutError(WorkerError, RuntimeError):
    """A batch has not come within the time that the user gave it."""


class LoaderClosedError(HeadraceError, RuntimeError):
    """A loader or iterator is used after its end."""


class StaleIteratorError(LoaderClosedError):
    """A second `iter` on the same loader has ended this iterator."""
