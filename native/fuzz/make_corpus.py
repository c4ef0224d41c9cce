"""Writes the seeds of the fuzz targets: small real files of every kind that the targets know.

Usage: make_corpus.py FOLDER     (writes FOLDER/tar/* and FOLDER/jpeg/*)
"""

import argparse
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

ORIENTATION_TAG = 0x0112


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
    # One of each kind of geometry, filter and flag: see geometry_of in jpeg_fuzz.cpp.
    choices = [bytes((kind, 33 * kind % 256, 23, 15 + kind)) for kind in range(7)]
    num_jpegs = write(folder / "jpeg", jpegs(), choices)
    num_tars = write(folder / "tar", tars(), [b""])
    print(f"{num_jpegs} JPEG and {num_tars} tar seeds in {folder}")


if __name__ == "__main__":
    main()
