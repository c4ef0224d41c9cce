"""Writes the seeds of the fuzz targets: small real files of every kind that the targets know.

Usage: make_corpus.py FOLDER     (writes FOLDER/TARGET/* for each target TARGET_fuzz.cpp)
"""

import argparse
import io
import struct
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image

ORIENTATION_TAG = 0x0112
LARGE = 250
"""The first byte that stands for the eight bytes behind it: see byte_reader.h."""


def picture(mode: str, width: int, height: int) -> Image.Image:
    """A colourful picture with edges: a gradient, turned, under a checkerboard."""
    red = Image.linear_gradient("L").resize((width, height))
    green = Image.radial_gradient("L").resize((width, height))
    blue = Image.linear_gradient("L").rotate(90).resize((width, height))
    image = Image.merge("RGB", (red, green, blue))
    for x in range(0, width, 8):
        for y in range(x % 16, height, 16):
            image.paste((255 - x % 256, y % 256, 60), (x, y, min(x + 8, width), min(y + 8, height)))
    return image.convert(mode)


def jpeg(mode: str = "RGB", width: int = 45, height: int = 37, **options: object) -> bytes:
    """A picture as JPEG; options as Pillow's encoder has them."""
    file = io.BytesIO()
    picture(mode, width, height).save(file, "JPEG", **{"quality": 85, **options})
    return file.getvalue()


def oriented(orientation: int) -> bytes:
    """A JPEG whose EXIF says how to turn it."""
    exif = Image.Exif()
    exif[ORIENTATION_TAG] = orientation
    return jpeg(exif=exif)


def jpegs() -> Iterator[tuple[str, bytes]]:
    """Names and bytes, before the four bytes that choose what is done to the image."""
    for subsampling in ("4:4:4", "4:2:2", "4:2:0"):
        yield f"baseline-{subsampling.replace(':', '')}", jpeg(subsampling=subsampling)
        yield f"progressive-{subsampling.replace(':', '')}", jpeg(subsampling=subsampling, progressive=True)
    yield "grey", jpeg("L")
    yield "grey-progressive", jpeg("L", progressive=True)
    yield "cmyk", jpeg("CMYK")
    yield "restarts", jpeg(restart_marker_blocks=1)
    yield "restarts-rows", jpeg(restart_marker_rows=1, subsampling="4:2:0")
    yield "optimised", jpeg(optimize=True)
    yield "poor", jpeg(quality=3)
    yield "one-pixel", jpeg(width=1, height=1)
    yield "wide", jpeg(width=150, height=3)
    yield "tall", jpeg(width=3, height=150)
    yield "larger", jpeg(width=130, height=120, quality=70)
    yield "xmp", jpeg(xmp=b'<x:xmpmeta><rdf:Description tiff:Orientation="6"/></x:xmpmeta>')
    for orientation in (1, 3, 6, 8):
        yield f"oriented-{orientation}", oriented(orientation)
    whole = jpeg()
    yield "cut", whole[: len(whole) * 6 // 10]
    yield "trailing", whole + bytes(100)
    yield "no-jpeg", b"\x89PNG\r\n\x1a\n" + bytes(60)


def tar(tar_format: int, names: list[str], size: int = 20) -> bytes:
    """A tar of files of one size."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tar_format) as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = size
            archive.addfile(member, io.BytesIO(b"x" * size))
    return without_padding(file.getvalue())


def without_padding(archive: bytes) -> bytes:
    """Two blocks of zeros end a tar; tarfile goes on to 10 KiB, where mutations would be wasted."""
    used = archive.rstrip(b"\0")
    return used + bytes(-len(used) % 512 + 1024)


def tar_with_links() -> bytes:
    """A tar of a file, a hard link, a symbolic link with a long target, and a directory."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("a.jpg"))
        for name, kind in (("b.jpg", tarfile.LNKTYPE), ("c.jpg", tarfile.SYMTYPE), ("d", tarfile.DIRTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "a.jpg" if kind == tarfile.LNKTYPE else "x" * 120
            archive.addfile(member)
    return without_padding(file.getvalue())


def tars() -> Iterator[tuple[str, bytes]]:
    """Names and bytes: every form of header, and what is cut, empty or no tar."""
    plain = ["0001.jpg", "0001.cls", "d/0002.jpg", "d/._0002.jpg"]
    long = ["n" * 60 + "/" + "m" * 60 + ".jpg", "a" * 270 + ".jpg"]
    for label, tar_format in (
        ("ustar", tarfile.USTAR_FORMAT),
        ("gnu", tarfile.GNU_FORMAT),
        ("pax", tarfile.PAX_FORMAT),
    ):
        yield label, tar(tar_format, plain)
        yield f"{label}-long", tar(tar_format, long[: 1 if label == "ustar" else 2])
    yield "pax-names", tar(tarfile.PAX_FORMAT, ["été/图像.jpg"])
    yield "links", tar_with_links()
    whole = tar(tarfile.USTAR_FORMAT, plain)
    yield "two-archives", whole + whole
    yield "cut-header", whole[:1124]
    yield "cut-data", whole[:520]
    yield "empty", bytes(1024)
    yield "no-tar", b"<!DOCTYPE html><html>" * 40
    yield "nothing", b""


def png_rows() -> Iterator[tuple[str, bytes]]:
    """Names and rows as PNG has them, before compression, behind a byte that holds the width less 1."""
    for width, height in ((1, 1), (8, 3), (45, 37), (256, 20)):
        grey = picture("L", width, height)
        for label, image in (("grey", grey), ("flat", grey.point(lambda value: value // 128))):
            yield f"{label}-{width}", bytes([width - 1]) + unpacked_png(image)
    stripes = b"".join(bytes([kind, *range(40)]) for kind in (0, 1, 2, 3, 4, 4, 3, 2, 1, 0))
    yield "all-filters", bytes([39]) + stripes
    yield "paeth-flat", bytes([39]) + 4 * (bytes([4, 9]) + bytes(39))
    yield "no-filter", bytes([3]) + bytes([5, 1, 2, 3, 4])
    yield "no-row", bytes([9, 0, 1])


def unpacked_png(image: Image.Image) -> bytes:
    """The filtered rows that Pillow's encoder makes."""
    file = io.BytesIO()
    image.save(file, "PNG")
    data, place, stream = file.getvalue(), 8, b""
    while place < len(data):
        size, name = struct.unpack_from(">I4s", data, place)
        stream += data[place + 8 : place + 8 + size] if name == b"IDAT" else b""
        place += size + 12
    return zlib.decompress(stream)


def texts() -> Iterator[tuple[str, bytes]]:
    """Names and texts: numbers, and what is nearly one."""
    kinds = ["0", "7\n", " -12 ", "+5", "999999999999999999", "-1000000000000000000", "9" * 30, "", " ", "-", "1 2"]
    kinds += ["0x1f", "1_000", "1e3", "12\0", "\v\f3\r\n", "--1", "٣", "1.0", "00012"]
    return ((f"text-{number}", text.encode()) for number, text in enumerate(kinds))


def masks() -> Iterator[tuple[str, bytes]]:
    """Names and numbers: element size, flip, its place, mask, crop, resize and window as masks_fuzz.cpp reads them."""
    boxes: dict[str, tuple[tuple[int, ...], ...]] = {
        "whole": ((9, 7), (0, 0, 9, 7), (9, 7), (0, 0, 9, 7)),
        "cropped": ((40, 30), (3, 5, 20, 21), (24, 24), (0, 0, 24, 24)),
        "window": ((40, 30), (0, 0, 40, 30), (64, 48), (11, 5, 32, 40)),
        "smaller": ((100, 90), (1, 2, 99, 88), (7, 5), (2, 1, 3, 3)),
        "last-pixel": ((50, 60), (49, 59, 1, 1), (8, 8), (7, 7, 1, 1)),
        "outside": ((9, 7), (1, 0, 9, 7), (9, 7), (0, 0, 9, 7)),
        "huge-resize": ((9, 7), (0, 0, 9, 7), (1 << 30, 1 << 30), ((1 << 30) - 9, (1 << 30) - 9, 9, 9)),
        "huge-box": ((9, 7), ((1 << 63) - 1, 0, 2, 2), (9, 7), (0, 0, 9, 7)),
    }
    for number, (name, parts) in enumerate(boxes.items()):
        head = bytes([number % 4, number % 2, number // 2 % 2])
        yield name, head + b"".join(encoded(value) for part in parts for value in part) + bytes([number, 1, 2, 3])


def encoded(value: int) -> bytes:
    """A number as byte_reader.h takes it."""
    return bytes([value]) if 0 <= value < LARGE else bytes([LARGE]) + (value % (1 << 64)).to_bytes(8, "little")


def column(values: Sequence[int]) -> bytes:
    """A column: its length, then its numbers."""
    return bytes([len(values)]) + b"".join(map(encoded, values))


def indexes() -> Iterator[tuple[str, bytes]]:
    """Names and columns: starts, offsets, sizes, fields, samples, wanted, places, entry, ends, ids, and raw ranges."""
    starts, offsets, sizes, fields = [0, 2, 4, 5], [512, 2048, 4096, 6144, 9000], [700, 3, 900, 1, 40], [0, 1, 0, 1, 2]
    usual = [starts, offsets, sizes, fields, [2, 0, 1], [1, 0], [0, 0, 0]]
    ranges = [[1, 2, 3], [100, 700, 19_990], [50, 5000, 100]]
    placing = [[3, 3, 10], [0, 9, 4, 2]]
    for name, changed in {
        "usual": {},
        "falling-starts": {0: [4, 2, 1, 0]},
        "starts-past-the-end": {0: [0, 1, 2, 4_000_000_000]},
        "huge-offsets": {1: [(1 << 64) - 1] * 5, 2: [(1 << 63) + 5] * 5},
        "large-offsets": {1: [1 << 61] * 5, 2: [1 << 61] * 5},
        "short-columns": {1: [1], 2: []},
        "negative-samples": {4: [-1, 3, 1 << 40]},
        "absent": {5: [7], 6: [1, 0, -1]},
    }.items():
        columns = [*usual[:7]]
        for place, values in changed.items():
            columns[place] = values
        yield name, b"".join([*map(column, columns), b"\0", *map(column, placing), *map(column, ranges)])
    no_rows = bytes(8)
    yield "falling-ends", no_rows + column([10, 3, 5]) + column([4, 0, 9])
    yield "negative-ends", no_rows + column([-(1 << 63), 5]) + column([4, 0])
    yield (
        "overlapping",
        no_rows + column([]) + column([]) + b"".join(map(column, ([1] * 4, [0, 0, 10, 4200], [9000, 5, 0, 1]))),
    )


def write(folder: Path, files: Iterator[tuple[str, bytes]], choices: list[bytes]) -> int:
    """Writes files, each followed by one of the choices in turn, and counts them."""
    folder.mkdir(parents=True, exist_ok=True)
    num_files = 0
    for number, (name, content) in enumerate(files):
        (folder / name).write_bytes(content + choices[number % len(choices)])
        num_files += 1
    return num_files


def main() -> None:
    """Writes the seeds into the folder that is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    # One of each kind of geometry, filter and flag: see geometry_choice.h and views_fuzz.cpp.
    choices = [bytes((kind, 33 * kind % 256, 23, 15 + kind)) for kind in range(7)]
    views = [
        bytes((37 * kind % 256, 250))
        + b"".join(choices[(kind + view) % 7] + bytes([45 * view + kind]) for view in range(1 + kind % 4))
        + bytes([kind % 4])
        for kind in range(9)
    ]
    # The ranges of cached_fuzz.cpp: within the file, beyond its end, far beyond, of no file, of a file that is cut.
    ranges = [
        (0, 0, 40, 9, 60, 30, 0, 0),
        (0, 0, 40, 9, 255, 63, 0, 0),
        (1, 3, 0, 0, 128, 9, 0, 0),
        (2, 0, 0, 0, 128, 9, 0, 0),
    ]
    ranges += [(0, 0, 0, 0, 128, 0, 1, cut) for cut in (0, 100, 250)]
    cached = [bytes(one) + choices[number] for number, one in enumerate(ranges)]
    seeds = {
        "tar": (tars(), [b""]),
        "jpeg": (jpegs(), choices),
        "views": (jpegs(), views),
        "cached": (jpegs(), cached),
        "png": (png_rows(), [b""]),
        "masks": (masks(), [b""]),
        "index": (indexes(), [b""]),
        "text": (texts(), [b""]),
    }
    for target, (files, endings) in seeds.items():
        print(f"{write(folder / target, files, endings)} seeds of {target} in {folder}")


if __name__ == "__main__":
    main()
