"""The same for dicts whose keys are text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Generic, Self, TypeVar

from headrace.datasets.shared.shared_dict import SharedDict

V = TypeVar("V")


class PackedDict(MutableMapping[str, V], Generic[V]):
    """A dict that is shared for as long as nobody changes it.

    Args:
        content: The shared dict.
    """

    __slots__ = ("content",)

    def __init__(self, content: SharedDict[V] | dict[str, V]) -> None:
        self.content = content

    def own(self) -> dict[str, V]:
        """The items as a plain dict of this process, from here on."""
        if not isinstance(self.content, dict):
            self.content = dict(self.content.items())
        return self.content

    def __len__(self) -> int:
        return len(self.content)

    def __getitem__(self, key: str) -> V:
        return self.content[key]

    def __contains__(self, key: object) -> bool:
        return key in self.content

    def __setitem__(self, key: str, value: V) -> None:
        self.own()[key] = value

    def __delitem__(self, key: str) -> None:
        del self.own()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.content)

    def items(self) -> Any:
        """Pairs of key and value."""
        return self.content.items()

    def values(self) -> Any:
        """The values."""
        return self.content.values()

    def copy(self) -> dict[str, V]:
        """The items as a plain dict."""
        return dict(self.content.items())

    def __or__(self, other: Mapping[str, V]) -> dict[str, V]:
        return {**self, **other}

    def __ror__(self, other: Mapping[str, V]) -> dict[str, V]:
        return {**other, **self}

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self.content))

    def __eq__(self, other: object) -> bool:
        return bool(self.content == (other.content if isinstance(other, PackedDict) else other))

    __hash__ = None  # type: ignore[assignment]  # as with dicts

    def __repr__(self) -> str:
        return repr(self.content)

    def __copy__(self) -> Self:
        return type(self)(self.content if isinstance(self.content, SharedDict) else dict(self.content))
