"""Paths into values with structure: `label.id`, `objects[].bbox`, `captions[0]`.

    path  = first { step }
    first = name | index | each | quoted
    step  = "." name | index | each | quoted
    name   one character or more that are none of . [ ]      the value of that key of an object
    index  "[" integer "]"                                     an element of a list; [-1] is the last
    each   "[]"                                                every element of a list: what follows is taken of each
    quoted '["' text '"]'                                      a key with any characters but the quote

A path is parsed once. Nothing in it is ever run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from headrace._base.brief import brief
from headrace.errors import DecodeError, MissingFieldError, OptionError


@dataclass(frozen=True, slots=True)
class Each:
    """The step `[]`."""


EACH: Final = Each()

Step: TypeAlias = str | int | Each
"""The key of an object, the place in a list, or every element of one."""

TOKEN = re.compile(r'\.?([^.\[\]]+)|\[(-?\d{1,9})\]|\[()\]|\["([^"]+)"\]')
"""One step; the dot before a name is checked apart, since a path begins without one."""

MAX_STEPS = 64
MAX_SHOWN_KEYS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A parsed path."""

    text: str
    steps: tuple[Step, ...]

    @property
    def num_each(self) -> int:
        """How many lists, one inside of the other, it gives."""
        return sum(step is EACH for step in self.steps)

    def of(self, value: Any) -> Any:
        """What the path names in a value: objects are mappings, lists are sequences or arrays.

        Raises:
            MissingFieldError: An object lacks a key, or a list ends before the place.
            DecodeError: A step asks a key of what is no object, or an element of what is no list.
        """
        try:
            return follow(value, self.steps, 0)
        except StepError as fault:
            raise self._named(fault) from None

    def _named(self, fault: StepError) -> MissingFieldError | DecodeError:
        kind = MissingFieldError if fault.lacks else DecodeError
        asked = written(fault.steps[fault.depth]).removeprefix(".")
        what = "lacks" if fault.lacks else "cannot be asked for"
        return kind(
            f"{fault.place() or 'the whole value'} {what} {asked!r}, which get={self.text!r} names",
            got=described(fault.value),
            accepted=None if fault.lacks else expected(fault.steps[fault.depth]),
        )


class StepError(Exception):
    """A step that could not be taken. Never leaves this module."""

    def __init__(self, value: Any, steps: tuple[Step, ...], depth: int, *, lacks: bool) -> None:
        super().__init__()
        self.value = value
        self.steps = steps
        self.depth = depth
        self.lacks = lacks
        self.elements: list[int] = []
        """The elements at which the `[]` before it stood, the innermost first."""

    def place(self) -> str:
        """Where it stood: the path up to there, with numbers in its `[]`."""
        elements = iter(reversed(self.elements))
        taken = [next(elements) if step is EACH else step for step in self.steps[: self.depth]]
        return "".join(map(written, taken)).removeprefix(".")


def follow(value: Any, steps: tuple[Step, ...], at: int) -> Any:
    """What the steps from `at` on lead to. Raises a `StepError` with its place."""
    for depth in range(at, len(steps)):
        step = steps[depth]
        if isinstance(step, Each):
            check_list(value, steps, depth)
            return [follow_element(element, number, steps, depth + 1) for number, element in enumerate(value)]
        if isinstance(step, str):
            if not isinstance(value, Mapping):
                raise StepError(value, steps, depth, lacks=value is None)
            if step not in value:
                raise StepError(value, steps, depth, lacks=True)
        else:
            check_list(value, steps, depth)
            if not -len(value) <= step < len(value):
                raise StepError(value, steps, depth, lacks=True)
        value = value[step]
    return value


def follow_element(element: Any, number: int, steps: tuple[Step, ...], at: int) -> Any:
    """What the steps after a `[]` lead to in one element."""
    try:
        return follow(element, steps, at)
    except StepError as fault:
        fault.elements.append(number)
        raise


def check_list(value: Any, steps: tuple[Step, ...], depth: int) -> None:
    """Raises a `StepError` where a value has no elements; a value that is null lacks them."""
    if hasattr(value, "ndim"):  # an array, or a tensor of a package that is not imported here
        has_elements = value.ndim > 0
    else:
        has_elements = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    if not has_elements:
        raise StepError(value, steps, depth, lacks=value is None)


def parse_path(text: object) -> Path:
    """Parses a path.

    Raises:
        OptionError: It is none; the error says at which character.
    """
    if not isinstance(text, str) or not text:
        raise OptionError("a path is no text", got=repr(text), accepted="such as 'label.id' or 'objects[].bbox'")
    steps: list[Step] = []
    at = 0
    while at < len(text):
        token = TOKEN.match(text, at)
        # A name begins the path or follows a dot; nothing else follows a dot.
        dotted = text[at] == "."
        if token is None or (token[1] is not None and dotted != bool(steps)):
            raise not_a_path(text, at)
        name, place, each, quoted = token.groups()
        steps.append(EACH if each is not None else int(place) if place is not None else name or quoted)
        at = token.end()
    if len(steps) > MAX_STEPS:
        raise OptionError("a path has too many steps", got=len(steps), accepted=f"at most {MAX_STEPS}")
    return Path(text=text, steps=tuple(steps))


def not_a_path(text: str, at: int) -> OptionError:
    """The error of a text that is no path from a character on."""
    return OptionError(
        f"get= is no path: character {at + 1} fits nothing",
        got=f"{text!r} from {text[at : at + 12]!r} on",
        accepted='names divided by dots, [3], [-1], [] for each element, ["a name with dots"]',
    )


def written(step: Step) -> str:
    """A step as it stands in a path, a name with its dot."""
    if isinstance(step, Each):
        return "[]"
    if isinstance(step, int):
        return f"[{step}]"
    return f'["{step}"]' if re.search(r"[.\[\]]", step) else f".{step}"


def expected(step: Step) -> str:
    """What a value has to be for a step."""
    return "an object" if isinstance(step, str) else "a list"


def described(value: Any) -> str:
    """What a value is, in short."""
    if isinstance(value, Mapping):
        shown = ", ".join(map(str, list(value)[:MAX_SHOWN_KEYS])) + (", ..." if len(value) > MAX_SHOWN_KEYS else "")
        return f"an object with {shown}" if value else "an empty object"
    if hasattr(value, "ndim"):
        return f"an array of shape {tuple(value.shape)}"
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return f"a list of {len(value)}"
    return "null" if value is None else brief(value)
