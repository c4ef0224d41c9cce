"""Small drawings as SVG text: lines, dots, words, and the axes of a chart. Coordinates are rounded to tenths."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

INK, QUIET, GRID = "#24292f", "#6e7781", "#d8dee4"
FONT = "font-family='system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif'"

Point = tuple[float, float]


def number(value: float) -> str:
    """A coordinate."""
    return f"{value:.1f}".removesuffix(".0")


@dataclass
class Drawing:
    """Marks on a white ground, in the sequence in which they were made."""

    width: int
    height: int
    title: str
    marks: list[str] = field(default_factory=list)

    def words(self, at: Point, text: str, *, size: int = 12, colour: str = INK, anchor: str = "start") -> None:
        """One line of text."""
        self.marks.append(
            f"<text x='{number(at[0])}' y='{number(at[1])}' font-size='{size}' fill='{colour}' "
            f"text-anchor='{anchor}'>{escape(text)}</text>"
        )

    def path(self, points: Sequence[Point], colour: str, *, width: float = 1, dashes: str = "none") -> None:
        """Straight lines from point to point."""
        steps = "L".join(f"{number(x)} {number(y)}" for x, y in points)
        self.marks.append(
            f"<path d='M{steps}' fill='none' stroke='{colour}' stroke-width='{width}' stroke-dasharray='{dashes}' "
            "stroke-linejoin='round'/>"
        )

    def dots(self, points: Iterable[Point], colour: str, *, size: float) -> None:
        """Round dots of one colour, as one path."""
        steps = "".join(f"M{number(x)} {number(y)}h0" for x, y in points)
        self.marks.append(f"<path d='{steps}' stroke='{colour}' stroke-width='{size}' stroke-linecap='round'/>")

    def frame(self, corner: Point, width: float, height: float) -> None:
        """A rectangle, upper left corner first."""
        x, y = corner
        self.path([(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y)], GRID)

    def text(self) -> str:
        """The file."""
        head = (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {self.width} {self.height}' {FONT} role='img'>\n"
            f"<title>{escape(self.title)}</title>\n<rect width='100%' height='100%' fill='#fff'/>\n"
        )
        return head + "\n".join(self.marks) + "\n</svg>\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogAxes:
    """A chart with logarithmic axes."""

    corner: Point
    """Upper left."""
    width: float
    height: float
    x: tuple[float, float]
    """Range of x."""
    y: tuple[float, float]

    def at(self, x: float, y: float) -> Point:
        """Where a pair of values lies."""
        return (
            self.corner[0] + self.width * fraction(x, self.x),
            self.corner[1] + self.height * (1 - fraction(y, self.y)),
        )

    def draw(self, drawing: Drawing, x_ticks: Sequence[float], y_ticks: Mapping[float, str], caption: str) -> None:
        """The grid, the numbers at the axes, and what x is."""
        left, top = self.corner
        for value, text in y_ticks.items():
            _, y = self.at(self.x[0], value)
            drawing.path([(left, y), (left + self.width, y)], GRID)
            drawing.words((left - 6, y + 4), text, size=11, colour=QUIET, anchor="end")
        for value in x_ticks:
            x, _ = self.at(value, self.y[0])
            drawing.words((x, top + self.height + 16), f"{value:g}", size=11, colour=QUIET, anchor="middle")
        drawing.words((left + self.width, top + self.height + 34), caption, size=11, colour=QUIET, anchor="end")


def fraction(value: float, bounds: tuple[float, float]) -> float:
    """How far a value lies between two others, on a logarithmic scale."""
    return math.log(value / bounds[0]) / math.log(bounds[1] / bounds[0])
