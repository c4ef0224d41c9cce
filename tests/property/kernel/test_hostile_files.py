"""Damaged and hostile files: a status and a message, zeros in the row, never a crash, and Pillow's own verdict."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from PIL import Image

from headrace import _native
from tests.property.kernel.baseline_jpeg import EOI, baseline_jpeg
from tests.property.kernel.kernel_calls import encode, rgb, run, spans

FULL = _native.Geometry(kind="full", height=16, width=16)
COLOUR = [(2, 2), (1, 1), (1, 1)]


@pytest.fixture(scope="module", params=["baseline", "progressive", "restarts"])
def jpeg(request, photograph):
    options = {"baseline": {}, "progressive": {"progressive": True}, "restarts": {"restart_marker_blocks": 3}}
    return encode(photograph.resize((120, 88)), quality=90, **options[request.param])


def pillow_accepts(data: bytes) -> bool:
    try:
        Image.open(io.BytesIO(data)).load()
    except (OSError, SyntaxError, ValueError):
        return False
    return True


def with_size(jpeg: bytes, width: int, height: int) -> bytes:
    at = next(i for i in range(len(jpeg)) if jpeg[i] == 0xFF and jpeg[i + 1] in {0xC0, 0xC2})
    return jpeg[: at + 5] + struct.pack(">HH", height, width) + jpeg[at + 9 :]


def test_truncations_need_the_whole_decode(jpeg, pool):
    files = [jpeg[: len(jpeg) * part // 16] for part in range(1, 16)]
    out, report = run(pool, FULL, files, 16, 16)
    assert set(report.status.tolist()) <= {_native.NEEDS_FULL, _native.UNSUPPORTED}
    assert not out.any()
    assert not any(pillow_accepts(file) for file in files)


def test_random_bytes_flipped(jpeg, pool):
    generator = np.random.default_rng(0)
    files = []
    for _ in range(300):
        damaged = bytearray(jpeg)
        for at in generator.integers(2, len(jpeg) - 2, generator.integers(1, 6)):
            damaged[at] = generator.integers(256)
        files.append(bytes(damaged))
    out, report = run(pool, FULL, files, 16, 16)
    for row, file in enumerate(files):
        if report.status[row] == _native.OK:
            np.testing.assert_array_equal(out[row], np.asarray(rgb(file).resize((16, 16), 2)))
        else:
            assert report.message(row)
            assert not out[row].any()
        if report.status[row] in {_native.CORRUPT, _native.OVER_LIMIT}:
            assert not pillow_accepts(file)


def test_random_bytes_behind_the_first_three(pool):
    generator = np.random.default_rng(1)
    files = [b"\xff\xd8\xff" + generator.bytes(int(size)) for size in generator.integers(0, 400, 300)]
    _, report = run(pool, FULL, files, 16, 16)
    assert report.status.all()


def test_bytes_behind_the_end_are_accepted(jpeg, pool):
    clean, _ = run(pool, FULL, [jpeg], 16, 16)
    for tail in (b"\0", b"\n" * 700, b"\xff" * 5, b"garbage" * 1000, jpeg[: len(jpeg) // 2]):
        out, report = run(pool, FULL, [jpeg + tail], 16, 16)
        assert not report.status.any(), (tail[:8], report.message(0))
        np.testing.assert_array_equal(out, clean)


def test_a_thumbnail_does_not_end_the_file(photograph, pool):
    thumbnail = encode(photograph.resize((8, 8)))
    jpeg = encode(photograph.resize((64, 64)), exif=b"Exif\0\0II*\0\x08\0\0\0\0\0" + thumbnail)
    _, report = run(pool, FULL, [jpeg, jpeg[: len(jpeg) * 3 // 4]], 16, 16)
    assert report.status.tolist() == [_native.OK, _native.NEEDS_FULL]


def test_an_end_marker_inside_the_scan_is_left_to_pillow(jpeg, pool):
    cut = jpeg[: len(jpeg) * 2 // 3].rstrip(b"\xff") + EOI
    _, report = run(pool, FULL, [cut], 16, 16)
    assert report.status[0] in {_native.NEEDS_FULL, _native.UNSUPPORTED}


def test_a_few_bytes_that_claim_to_be_huge_are_refused(pool):
    bomb = with_size(baseline_jpeg(8, 8, [(1, 1), (1, 1), (1, 1)]), 65500, 65500)
    assert len(bomb) < 800
    _, report = run(pool, FULL, [bomb], 16, 16)
    assert report.status[0] == _native.OVER_LIMIT
    assert "65500 x 65500" in report.message(0)
    assert str(1 << 28) in report.message(0)


def test_scans_are_limited(photograph, pool):
    jpeg = encode(photograph.resize((64, 64)), progressive=True)
    last = jpeg.rindex(b"\xff\xda")
    bomb = jpeg[:-2] + jpeg[last:-2] * 600 + EOI
    _, report = run(pool, FULL, [bomb, jpeg], 16, 16)
    assert report.status.tolist() == [_native.OVER_LIMIT, _native.OK]
    assert "500" in report.message(0)


def test_decoder_memory_is_limited(photograph, pool):
    jpeg = encode(photograph.resize((1024, 1024)), progressive=True)
    geometry = _native.Geometry(kind="full", height=16, width=16, max_decoder_bytes=1 << 20)
    _, report = run(pool, geometry, [jpeg, encode(photograph.resize((1024, 1024)))], 16, 16)
    assert report.status.tolist() == [_native.OVER_LIMIT, _native.OK]
    assert "`decoder_bytes` limit" in report.message(0)


def test_a_resize_that_would_be_huge_is_refused(pool):
    geometry = _native.Geometry(kind="resize_center_crop", resize_height=256, height=8, width=8, max_pixels=1 << 20)
    strip = baseline_jpeg(1, 3000, [(1, 1)], density=0.0)
    _, report = run(pool, geometry, [strip], 8, 8)
    assert report.status[0] == _native.OVER_LIMIT


def test_a_line_that_a_resize_makes_longer_than_any_array_is_refused(pool):
    # 300 / 1 x 14,316,558 is 104 more than 2^32: in 32 bits that was an image of 300 x 104.
    length = 14_316_558
    line = np.zeros((length, 1, 3), np.uint8)
    geometry = _native.Geometry(kind="resize_center_crop", resize_height=300, height=8, width=8)
    out = np.ones((1, 3, 8, 8), np.uint8)
    report = _native.run_pixels(
        pool,
        geometry,
        np.array([line.ctypes.data], np.uint64),
        np.array([length], np.int32),
        np.array([1], np.int32),
        np.array([3], np.int64),
        np.zeros(1, np.uint64),
        out,
    )
    assert report.status[0] == _native.OVER_LIMIT
    assert not out.any()


@pytest.mark.parametrize("name", ["PNG", "GIF", "BMP", "WEBP", "TIFF"])
def test_other_formats_are_left_to_pillow(photograph, pool, name):
    file = io.BytesIO()
    photograph.resize((20, 20)).save(file, name)
    _, report = run(pool, FULL, [file.getvalue()], 16, 16)
    assert report.status[0] == _native.UNSUPPORTED


def test_cmyk_twelve_bits_lossless_and_arithmetic_are_left_to_pillow(photograph, pool):
    plain = baseline_jpeg(16, 16, COLOUR)
    frame = plain.index(b"\xff\xc0")
    files = [encode(photograph.convert("CMYK")), b"", b"\xff", b"\xff\xd8\xff"[:2]]
    files += [plain[: frame + 1] + bytes([kind]) + plain[frame + 2 :] for kind in (0xC3, 0xC9)]
    files.append(plain[: frame + 4] + b"\x0c" + plain[frame + 5 :])
    _, report = run(pool, FULL, files, 16, 16)
    assert report.status.tolist() == [_native.UNSUPPORTED] * len(files)


def test_one_bad_row_leaves_the_others_alone(jpeg, pool):
    clean, _ = run(pool, FULL, [jpeg], 16, 16)
    out, report = run(pool, FULL, [jpeg, b"nothing", jpeg[:300], jpeg], 16, 16)
    assert report.status.tolist() == [_native.OK, _native.UNSUPPORTED, _native.NEEDS_FULL, _native.OK]
    np.testing.assert_array_equal(out[[0, 3]], clean[[0, 0]])
    assert not out[1:3].any()


def test_decode_full_and_probe(jpeg, pool):
    kept, addresses, sizes = spans([jpeg, b"GIF89a", jpeg[:-200]])
    images, report = _native.decode_full(pool, addresses, sizes)
    np.testing.assert_array_equal(images[0], np.asarray(rgb(jpeg)))
    assert images[1] is None
    assert images[2] is None
    assert report.status.tolist() == [_native.OK, _native.UNSUPPORTED, _native.NEEDS_FULL]
    headers, status = _native.probe(addresses, sizes)
    assert headers[0].tolist() == [88, 120, 3, int(b"\xff\xc2" in jpeg[:700])]
    assert status.tolist() == [_native.OK, _native.UNSUPPORTED, _native.OK]
    del kept
