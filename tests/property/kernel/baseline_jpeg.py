"""Baseline JPEGs of random coefficients, of any sampling, restart interval and order of scans.

Pillow writes three samplings and no restart markers; cameras and other programs write more. The bytes follow ITU-T T.81
annexes B and F; quantisation and Huffman tables are taken from a file that Pillow wrote.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

Factors = Sequence[tuple[int, int]]
EOI = b"\xff\xd9"
NUM_COEFFICIENTS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    segments: bytes
    """The DQT and DHT segments as they are."""
    codes: dict[int, dict[int, str]]
    """Code words as text, by table (class << 4 | number) and symbol."""


def segments_of(jpeg: bytes) -> list[tuple[int, bytes]]:
    """(marker, payload) of every segment before the scan."""
    found, at = [], 2
    while jpeg[at + 1] != 0xDA:
        length = struct.unpack(">H", jpeg[at + 2 : at + 4])[0]
        found.append((jpeg[at + 1], jpeg[at + 4 : at + 2 + length]))
        at += 2 + length
    return found


def segment(marker: int, payload: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(payload) + 2) + payload


def codes_of(lengths: bytes, symbols: bytes) -> dict[int, str]:
    codes, code, at = {}, 0, 0
    for length, num in enumerate(lengths, start=1):
        for symbol in symbols[at : at + num]:
            codes[symbol] = format(code, f"0{length}b")
            code += 1
        at += num
        code <<= 1
    return codes


def pillow_tables() -> Tables:
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "JPEG", quality=85)
    raw, codes = b"", {}
    for marker, payload in segments_of(file.getvalue()):
        if marker in {0xDB, 0xC4}:
            raw += segment(marker, payload)
        at = 0
        while marker == 0xC4 and at < len(payload):
            num = sum(payload[at + 1 : at + 17])
            codes[payload[at]] = codes_of(payload[at + 1 : at + 17], payload[at + 17 : at + 17 + num])
            at += 17 + num
    return Tables(segments=raw, codes=codes)


TABLES = pillow_tables()


def magnitude(value: int) -> str:
    """The bits behind a code word (T.81, table F.1)."""
    if value == 0:
        return ""
    size = abs(value).bit_length()
    return format(value if value > 0 else value + (1 << size) - 1, f"0{size}b")


def block_bits(values: Sequence[int], difference: int, table: int) -> str:
    """The bits of a block; `values` in the order in which they are sent."""
    bits = magnitude(difference)
    text = TABLES.codes[table][len(bits)] + bits
    codes, run = TABLES.codes[0x10 | table], 0
    last = max((k for k in range(1, NUM_COEFFICIENTS) if values[k]), default=0)
    for value in values[1 : last + 1]:
        if value == 0:
            run += 1
            continue
        text += codes[0xF0] * (run // 16)
        bits = magnitude(value)
        text += codes[(run % 16) << 4 | len(bits)] + bits
        run = 0
    return text if last == NUM_COEFFICIENTS - 1 else text + codes[0]


def packed(bits: str) -> bytes:
    bits += "1" * (-len(bits) % 8)
    return int(bits or "0", 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\x00") if bits else b""


class Scan:
    """The blocks of a scan, MCU by MCU."""

    def __init__(self, generator: np.random.Generator, density: float, restart_interval: int) -> None:
        self.generator, self.density, self.restart_interval = generator, density, restart_interval
        self.parts: list[str] = [""]
        self.previous: dict[int, int] = {}
        self.num_mcus = 0

    def begin_mcu(self) -> None:
        if self.restart_interval and self.num_mcus and self.num_mcus % self.restart_interval == 0:
            self.parts.append("")
            self.previous = {}
        self.num_mcus += 1

    def add_block(self, component: int) -> None:
        values = np.rint(self.generator.laplace(0, 3, NUM_COEFFICIENTS)).astype(int)
        values *= self.generator.random(NUM_COEFFICIENTS) < self.density
        values[0] = self.generator.integers(-60, 60)
        if self.generator.random() < 0.05:
            values[self.generator.integers(1, NUM_COEFFICIENTS)] = self.generator.integers(-1023, 1024)
        difference = int(values[0]) - self.previous.get(component, 0)
        self.previous[component] = int(values[0])
        self.parts[-1] += block_bits([int(value) for value in values], difference, min(component, 1))

    def bytes(self) -> bytes:
        data = packed(self.parts[0])
        for index, part in enumerate(self.parts[1:]):
            data += bytes([0xFF, 0xD0 + index % 8]) + packed(part)
        return data


def baseline_jpeg(
    width: int,
    height: int,
    factors: Factors,
    *,
    seed: int = 0,
    restart_interval: int = 0,
    interleaved: bool = True,
    density: float = 0.2,
) -> bytes:
    """A JPEG of one or three components with these (horizontal, vertical) sampling factors."""
    generator = np.random.default_rng(seed)
    jpeg = b"\xff\xd8" + TABLES.segments
    frame = struct.pack(">BHHB", 8, height, width, len(factors))
    frame += b"".join(bytes([i + 1, h << 4 | v, min(i, 1)]) for i, (h, v) in enumerate(factors))
    jpeg += segment(0xC0, frame) + segment(0xDD, struct.pack(">H", restart_interval))
    groups = [range(len(factors))] if interleaved else [[i] for i in range(len(factors))]
    for group in groups:
        selectors = b"".join(bytes([i + 1, min(i, 1) * 0x11]) for i in group)
        jpeg += segment(0xDA, bytes([len(group)]) + selectors + b"\x00\x3f\x00")
        jpeg += scan_of(Scan(generator, density, restart_interval), group, factors, width, height)
    return jpeg + EOI


def scan_of(scan: Scan, group: Sequence[int], factors: Factors, width: int, height: int) -> bytes:
    h_max, v_max = max(h for h, _ in factors), max(v for _, v in factors)
    if len(group) == 1:  # not interleaved: the blocks of the component alone, without padding to whole MCUs
        h, v = factors[group[0]]
        columns, rows = -(-width * h // (8 * h_max)), -(-height * v // (8 * v_max))
        blocks = [group[0]]
    else:
        columns, rows = -(-width // (8 * h_max)), -(-height // (8 * v_max))
        blocks = [i for i in group for _ in range(factors[i][0] * factors[i][1])]
    for _ in range(columns * rows):
        scan.begin_mcu()
        for component in blocks:
            scan.add_block(component)
    return scan.bytes()
