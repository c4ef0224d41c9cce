"""Exceptions on their way between processes, with their causes, and with what cannot be pickled left out."""

from __future__ import annotations

import contextlib
import pickle
import traceback
from typing import Any, NamedTuple

import cloudpickle

from headrace.errors import WorkerError

MAX_LINKS = 16
"""Length of a chain of causes that is carried; the traceback as text has all of it."""


class Link(NamedTuple):
    """One exception of a chain."""

    data: bytes
    notes: tuple[str, ...]
    has_cause: bool
    """Whether the next one is its cause, rather than what was being handled."""


class CarriedError:
    """An exception as bytes, made where it was raised."""

    __slots__ = ("links", "text")

    def __init__(self, links: list[Link], text: str) -> None:
        self.links = links
        self.text = text

    def __reduce__(self) -> tuple[Any, ...]:
        return CarriedError, (self.links, self.text)


def carry(error: BaseException) -> CarriedError:
    """Packs an exception and those that caused it; never raises."""
    links: list[Link] = []
    link: BaseException | None = error
    while link is not None and len(links) < MAX_LINKS:
        explicit = link.__cause__ is not None
        links.append(Link(packed(link), tuple(getattr(link, "__notes__", ())), explicit))
        link = link.__cause__ if explicit or link.__suppress_context__ else link.__context__
    return CarriedError(links, "".join(traceback.format_exception(error)))


def packed(error: BaseException) -> bytes:
    """One exception, as good as it can be had: itself, else its class with what can be pickled, else its words."""
    for attempt in (error, bare(error)):
        with contextlib.suppress(BaseException):
            data: bytes = cloudpickle.dumps(attempt, protocol=5)
            if type(pickle.loads(data)) is type(error):  # noqa: S301 - our own: classes may refuse to be rebuilt
                return data
    words = f"{type(error).__qualname__}: {words_of(error)}"
    return cloudpickle.dumps(WorkerError(words, remedy="The error itself could not be sent between processes."))  # type: ignore[no-any-return]


class Bare:
    """Pickles as an exception that is rebuilt without calling its class."""

    def __init__(self, kind: type[BaseException], args: tuple[Any, ...], state: dict[str, Any]) -> None:
        self.parts = kind, args, state

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild_bare, self.parts


def bare(error: BaseException) -> Bare:
    """The class of an exception, with its arguments and attributes; texts in place of those that cannot be pickled."""
    args = tuple(arg if travels(arg) else repr(arg) for arg in error.args) or (words_of(error),)
    state = {name: value if travels(value) else repr(value) for name, value in vars(error).items()}
    return Bare(type(error), args, state)


def rebuild_bare(kind: type[BaseException], args: tuple[Any, ...], state: dict[str, Any]) -> BaseException:
    """An exception whose class may want other arguments than it keeps."""
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(state)
    return error


def travels(value: Any) -> bool:
    """Whether a value can be pickled and rebuilt."""
    try:
        pickle.loads(cloudpickle.dumps(value, protocol=5))  # noqa: S301 - our own
    except Exception:  # noqa: BLE001 - whatever it says: no
        return False
    return True


def words_of(error: BaseException) -> str:
    """The message of an exception, also of one whose `__str__` fails."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a message is wanted, not another error
        return "(no message)"


def arrived(carried: CarriedError, origin: str) -> BaseException:
    """The exception in the process that is to raise it; a note holds the traceback, which cannot travel otherwise.

    Args:
        carried: What was sent.
        origin: Who sent it, in words.
    """
    chain = [unpacked(link) for link in carried.links]
    for before, after, link in zip(chain, chain[1:], carried.links, strict=False):
        if link.has_cause:
            before.__cause__ = after
        else:
            before.__context__ = after
    chain[0].add_note(f"raised in {origin}:\n{carried.text.rstrip()}")
    return chain[0]


def unpacked(link: Link) -> BaseException:
    """One exception, with its notes."""
    try:
        error: Any = pickle.loads(link.data)  # noqa: S301 - from a process that this one has started
    except Exception as failure:  # noqa: BLE001 - a class that is not to be had here
        error = WorkerError("an error of a worker process could not be rebuilt here", got=failure)
    made = error if isinstance(error, BaseException) else WorkerError("an error that is none", got=repr(error))
    if not hasattr(made, "__notes__"):
        for note in link.notes:
            made.add_note(note)
    return made
