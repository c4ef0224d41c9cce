"""The native part of headrace. Private: each function is wrapped by the package that owns it.

Addresses and sizes are uint64 arrays; everything runs with the GIL released; nothing here raises for bad *content*
(a status a row says what is wrong), only for wrong arguments (ValueError, TypeError).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

# --- bind/io.cpp (owner: shards) -----------------------------------------------------------------------------------

def read_ranges(
    fds: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.uint64],
    sizes: npt.NDArray[np.uint64],
    addresses: npt.NDArray[np.uint64],
) -> npt.NDArray[np.int32]:
    """Reads N ranges of open files to N addresses (pread in a loop; neighbouring ranges of one file whose
    destinations are neighbours too are joined into one read). Returns one int32 a range: 0 ok, > 0 errno,
    -1 the file ended before the range did."""

class ReadPlan:
    """Reads that get ranges of open files into one arena, by file and offset, close neighbours together.

    `fds`, `offsets` and `sizes` have one shape of two axes; below 0 stands a descriptor where there is no range.
    """

    def __init__(
        self, fds: npt.NDArray[np.int32], offsets: npt.NDArray[np.uint64], sizes: npt.NDArray[np.uint64]
    ) -> None: ...
    @property
    def size_bytes(self) -> int:
        """Size of the arena."""
    @property
    def reads(self) -> list[tuple[int, int, int, int]]:
        """Descriptor, offset in the file, size and place in the arena of each read."""
    def read(self, arena: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint64], dict[int, int]]:
        """Reads, with the GIL released: the address of each range (0 where there is none), and of those that failed
        an errno, or -1 where the file ended before the range did, by their place in the flattened table."""

class CachedRanges:
    """Ranges of open files in the system's page cache, which threads of a pool copy where they decode them.

    The files stay the caller's, who keeps them open as long as the ranges are used. All arrays have shape (rows,).
    """

    def __init__(
        self, fds: npt.NDArray[np.int32], offsets: npt.NDArray[np.uint64], sizes: npt.NDArray[np.uint64]
    ) -> None: ...
    def all_there(self) -> bool:
        """Whether the last byte of each range can be had without waiting for storage; False where the system or the
        file system does not tell."""
    @property
    def waited_s(self) -> float:
        """For how long copies of these ranges have waited for storage, all threads together, in seconds."""

class WholeFiles:
    """Files that are open until they are read: file i of `files` has the path that ends before byte `ends[i]` of
    `paths`, all paths one after another. Raises IndexError where there is no such path."""

    def __init__(self, paths: bytes, ends: npt.NDArray[np.int64], files: npt.NDArray[np.int64]) -> None: ...
    @property
    def size_bytes(self) -> int:
        """Size of the arena."""
    def read(
        self, arena: npt.NDArray[np.uint8]
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], dict[int, int]]:
        """Reads the files and closes them, with the GIL released: addresses, sizes, and an errno for each that failed,
        or -1 where it became shorter. Where one could not be opened none is read."""

def open_files(paths: Sequence[bytes]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
    """Opens N files for reading: (descriptors or -1, sizes in bytes, errno or 0). Directories give EISDIR."""

def close_files(fds: npt.NDArray[np.int32]) -> None:
    """Closes descriptors; -1 is passed over."""

def start_writeback(fd: int, offset: int, size: int) -> None:
    """Hints that a range of a file may be written to the disk now; does nothing where the system has no such call."""

# --- bind/tar.cpp (owner: shards) ----------------------------------------------------------------------------------

def index_file(fd: int, size: int, on_progress: Callable[[int], object] | None = None) -> dict[str, Any]:
    """Scans a tar's headers and groups its members. Keys of the answer:

    fault: None, or (kind, offset, errno, text) with kind "not_a_tar", "truncated", "corrupt", "unsupported" or
        "read_error": what ended the scan. Everything before it is in the columns.
    content_faults: list of (kind, sample, member name, offset, text) with kind "duplicate", "reserved", "unresolved"
        or "unsupported"; the first 1,000 of them.
    faulty: the samples of all content faults (uint32).
    num_archives, num_members: archives one after another; members of any kind.
    interleaved: None, or the first sample whose members lie apart.
    fields: list of names (bytes, ASCII letters in lower case).
    keys (uint8), key_starts (uint64, samples + 1), sample_starts (uint32, samples + 1), offsets, sizes (uint64,
        members), field_ids (uint32, members): members sorted by sample.

    `on_progress` is called with the offset reached, now and then; an exception from it, or a signal's, ends the scan.
    """

def index_bytes(data: bytes) -> dict[str, Any]:
    """The same for a tar in memory."""

def locate(
    starts: npt.NDArray[np.uint32],
    offsets: npt.NDArray[np.uint64],
    sizes: npt.NDArray[np.uint64],
    field_ids: npt.NDArray[np.uint32],
    samples: npt.NDArray[np.int64],
    wanted: npt.NDArray[np.uint32],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
    """For each sample the member whose field comes first in `wanted`: offsets, sizes, positions in `wanted` (-1 where
    there is none). Raises IndexError where a sample or the index is out of bounds."""

class ShardFields:
    """An open shard as `locate_rows` reads it: its descriptor, the columns of its index, which it keeps alive, and for
    each entry the numbers of its fields in this shard, best first."""

    def __init__(
        self,
        fd: int,
        starts: npt.NDArray[np.uint32],
        offsets: npt.NDArray[np.uint64],
        sizes: npt.NDArray[np.uint64],
        field_ids: npt.NDArray[np.uint32],
        wanted: Sequence[npt.NDArray[np.uint32]],
    ) -> None: ...

def place_samples(
    ends: npt.NDArray[np.int64], ids: npt.NDArray[np.int64]
) -> tuple[list[int], npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """The shards that hold these samples, numbered through all shards, of which the i-th ends before sample `ends[i]`:
    their numbers, rising; for each sample the place of its shard in that list, and its number inside the shard. Raises
    IndexError where a sample is in none."""

def locate_rows(
    shards: Sequence[ShardFields | None],
    num_entries: int,
    places: npt.NDArray[np.int32],
    samples: npt.NDArray[np.int64],
) -> tuple[
    npt.NDArray[np.int32],
    npt.NDArray[np.uint64],
    npt.NDArray[np.uint64],
    npt.NDArray[np.int32],
    list[npt.NDArray[np.int64]],
]:
    """`locate` for every entry and row: row i is sample `samples[i]` of `shards[places[i]]`. A place of -1, or None in
    place of a shard, means that nothing is found.

    Returns descriptors (-1 where nothing is found), offsets, sizes, choices, each of shape (entries, rows), and for
    each entry the rows where nothing is found. Raises IndexError where something is out of bounds."""

# --- bind/kernel.cpp (owner: kernel) -------------------------------------------------------------------------------

OK: int  # 0
UNSUPPORTED: int  # 1: not for this kernel (CMYK, 12-bit, arithmetic, lossless, not a JPEG): Pillow's turn
CORRUPT: int  # 2
OVER_LIMIT: int  # 3
NEEDS_FULL: int  # 4: no end marker is found, or damage was passed over: Pillow's verdict decides
UNREAD: int  # 5: its bytes were to come from the page cache (`CachedRanges`), and were not all there

FILTER_NEAREST: int  # 0
FILTER_BILINEAR: int  # 2, numbers as PIL.Image.Resampling has them
FILTER_BICUBIC: int  # 3

class Pool:
    """Threads that take samples from the batches handed in, the earliest turn first, so that a thread that finds
    nothing left of one batch goes on with the next. Rebuilt after a fork. With 0 threads the caller does the work."""

    def __init__(self, num_threads: int) -> None: ...
    @property
    def num_threads(self) -> int: ...
    def close(self) -> None:
        """Ends the threads once the batches handed in are done. Idempotent."""
    @staticmethod
    def set_turn(turn: int) -> None:
        """The turn of the batches that this thread hands in from now on, to any pool: 0 to 2^64 - 1, 0 until it is set.
        A batch of an earlier turn is done before one of a later turn that came first; of equal turns, the first."""

class Geometry:
    """What happens to the pixels before layout, as data. Kinds:

    "full": the whole image, resized to (height, width) if those are not 0, else left as it is (all must be equal).
    "random_resized_crop": scale, log_ratio, ratio, crop_op; crop, then resize to (height, width).
    "resize_center_crop": Resize to resize_height x resize_width (or, where resize_width is 0, the shorter edge to
        resize_height, longer edge int(resize_height * long / short), capped by max_size if not 0), then CenterCrop
        (height, width); height = 0 means no crop (the rows of the batch must then turn out alike).
    "resize_random_crop": the same with a random crop of op crop_op.
    "center_crop", "random_crop": no resize (resize_height = 0).
    "boxes": crop to the given box of each row, then resize to (height, width) if those are not 0.

    The flip comes last; with `flip_first` before the resize, which is another one then: filters have no symmetry to the
    last bit.

    Padding (CenterCrop or RandomCrop larger than the image) is not known to the kernel: such rows are UNSUPPORTED.
    """

    def __init__(
        self,
        *,
        kind: str,
        height: int,
        width: int,
        filter: int = 2,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (0.75, 1.3333333333333333),
        log_ratio: tuple[float, float] = (0.0, 0.0),
        resize_height: int = 0,
        resize_width: int = 0,
        max_size: int = 0,
        crop_op: int = 0,
        flip_probability: float = 0.0,
        flip_op: int = 0,
        flip_first: bool = False,
        apply_exif: bool = False,
        dct_scaling: bool = False,
        max_pixels: int = 1 << 28,
        max_scans: int = 500,
        max_decoder_bytes: int = 1 << 30,
    ) -> None: ...

class BatchReport:
    """What became of the rows."""

    @property
    def status(self) -> npt.NDArray[np.uint8]:
        """Status of each row, shape (rows,)."""
    @property
    def params(self) -> npt.NDArray[np.int32]:
        """Drawn geometry, shape (rows, 8): image height, image width (after EXIF where applied), top, left, height,
        width of the crop box in the coordinates of what is cropped (the image, or the resized image), flip (0/1),
        EXIF orientation (1 where ignored)."""
    @property
    def failed(self) -> list[int]:
        """The rows that are not OK, rising."""
    def message(self, row: int) -> str:
        """What the decoder said of a row; empty where it is OK."""

def run_jpegs(
    pool: Pool,
    geometry: Geometry,
    addresses: npt.NDArray[np.uint64] | CachedRanges,
    sizes: npt.NDArray[np.uint64],
    keys: npt.NDArray[np.uint64],
    out: npt.NDArray[Any],
    rows: npt.NDArray[np.int64] | None = None,
    lut: npt.NDArray[Any] | None = None,
    boxes: npt.NDArray[np.int32] | None = None,
    flips: npt.NDArray[np.uint8] | None = None,
    channels_last: bool = False,
) -> BatchReport:
    """Decodes N JPEGs straight into `out[rows[i]]`; without `rows` into the first N rows.

    `out` is C-contiguous of shape (B, 3, H, W), or (B, H, W, 3) with `channels_last`; it may have 1-, 2- or 4-byte
    elements. Where these are not uint8, `lut` (shape (3, 256), same element size) maps every channel value; with
    uint8 a lut is allowed too. `boxes` (rows, 4: top, left, height, width) and `flips` replace the draws.
    Rows that are not OK are filled with zeros. The result does not depend on the number of threads.
    """

def run_views(
    pool: Pool,
    addresses: npt.NDArray[np.uint64] | CachedRanges,
    sizes: npt.NDArray[np.uint64],
    geometries: list[Geometry],
    keys: list[npt.NDArray[np.uint64]],
    outs: list[npt.NDArray[Any]],
    luts: list[npt.NDArray[Any] | None],
    rows: npt.NDArray[np.int64] | None = None,
    channels_last: bool = False,
) -> list[BatchReport]:
    """Several views of N JPEGs, each as `run_jpegs` makes it; a list of one entry a view of what differs.

    An image is decoded once for all views where that costs less. Geometries have the same limits and orientation and
    no DCT scaling.
    """

def run_pixels(
    pool: Pool,
    geometry: Geometry,
    addresses: npt.NDArray[np.uint64],
    heights: npt.NDArray[np.int32],
    widths: npt.NDArray[np.int32],
    strides: npt.NDArray[np.int64],
    keys: npt.NDArray[np.uint64],
    out: npt.NDArray[Any],
    rows: npt.NDArray[np.int64] | None = None,
    lut: npt.NDArray[Any] | None = None,
    boxes: npt.NDArray[np.int32] | None = None,
    flips: npt.NDArray[np.uint8] | None = None,
    channels_last: bool = False,
) -> BatchReport:
    """The same from RGB pixels (uint8, HWC, `strides` bytes from one row of pixels to the next)."""

def move_masks(
    addresses: npt.NDArray[np.uint64],
    sizes: npt.NDArray[np.int64],
    crops: npt.NDArray[np.int64],
    resized: npt.NDArray[np.int64],
    windows: npt.NDArray[np.int64],
    flips: npt.NDArray[np.uint8],
    out: npt.NDArray[Any],
    flip_first: bool = False,
) -> None:
    """Moves masks of one channel, contiguous and of the type of `out`, into `out` of shape (masks, height, width).

    Args:
        addresses: Of each mask, shape (masks,).
        sizes: Height and width of each mask, shape (masks, 2).
        crops: Top, left, height and width that are cut out first, shape (masks, 4).
        resized: Height and width that the crop is resized to, by torch's rule of nearest neighbours, shape (masks, 2).
        windows: Top, left, height and width that are kept of that, the size of `out`, shape (masks, 4).
        flips: Whether the window is mirrored, shape (masks,).
        out: C-contiguous, elements of 1, 2, 4 or 8 bytes.
        flip_first: The crop is what is mirrored, before the resize.
    """

def iou_crops(
    keys: npt.NDArray[np.uint64],
    sizes: npt.NDArray[np.int64],
    corners: npt.NDArray[np.float32] | npt.NDArray[np.float64],
    starts: npt.NDArray[np.int64],
    options: npt.NDArray[np.float64],
    scale: tuple[float, float],
    ratio: tuple[float, float],
    trials: int,
    op: int,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Decides torchvision's RandomIoUCrop for a batch (reference: `headrace.recipes.iou_crop_reference`).

    Args:
        keys: Key of each sample, shape (rows,).
        sizes: Height and width of each image, shape (rows, 2).
        corners: Left, top, right and bottom of the boxes, one row's after the other's, shape (boxes, 4).
        starts: Where the boxes of each row begin and the last one's end, shape (rows + 1,).
        options: Least overlaps, of which one is drawn; from 1 on: as it is.
        scale: Smallest and largest share of each edge, within -16..16.
        ratio: Smallest and largest width / height.
        trials: Tries before another option is drawn.
        op: Position of the op.

    Returns:
        Top, left, height and width, shape (rows, 4), the whole image where it is not cropped; and for each row
        0 (no crop was found), 1 (stays as it is) or 2 (is cropped).
    """

def unfilter_png(filtered: bytes, out: npt.NDArray[np.uint8]) -> bool:
    """Undoes the filters of a PNG of one byte a pixel, height * (width + 1) bytes, into `out` of shape (height, width).

    False where a row names a filter that does not exist.
    """

def decode_full(
    pool: Pool,
    addresses: npt.NDArray[np.uint64] | CachedRanges,
    sizes: npt.NDArray[np.uint64],
    apply_exif: bool = False,
    max_pixels: int = 1 << 28,
    max_scans: int = 500,
    max_decoder_bytes: int = 1 << 30,
) -> tuple[list[npt.NDArray[np.uint8] | None], BatchReport]:
    """Whole images, RGB uint8 (H, W, 3), None where the status is not OK."""

def probe(
    addresses: npt.NDArray[np.uint64] | CachedRanges, sizes: npt.NDArray[np.uint64], apply_exif: bool = False
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Headers only: (height, width, components, progressive) a row, shape (rows, 4), and a status a row.
    Height and width are those after EXIF where it is applied."""

# --- bind/resample.cpp (owner: kernel): the passes of the kernel one by one, for property tests ----------------------

def simd_paths() -> list[str]:
    """Instruction sets that this machine runs, fastest first; "portable" is always the last."""

def resize_pixels(
    pixels: npt.NDArray[np.uint8],
    out_height: int,
    out_width: int,
    *,
    window: tuple[int, int, int, int] | None = None,
    filter: int = 2,
    path: str = "auto",
) -> npt.NDArray[np.uint8]:
    """Window (top, left, height, width; default: all) of the resize of uint8 pixels (H, W, 3 or 4) to (out_height,
    out_width), as (height, width, 3). The fourth channel is ignored. Only the part of the pixels that the window needs
    is read."""

def lay_out_pixels(
    pixels: npt.NDArray[np.uint8],
    out: npt.NDArray[Any],
    *,
    flip: bool = False,
    channels_last: bool = False,
    lut: npt.NDArray[Any] | None = None,
    path: str = "auto",
) -> None:
    """Writes uint8 pixels (H, W, 3 or 4) into `out`, (3, H, W) or (H, W, 3) with `channels_last`, of 1-, 2- or 4-byte
    elements, mapped by `lut` (3, 256) where given, mirrored where `flip` is set."""

# --- bind/text.cpp (owner: codecs) ---------------------------------------------------------------------------------

def parse_integers(addresses: npt.NDArray[np.uint64], sizes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64] | None:
    """The decimal numbers of N texts: white space, sign, one to 18 digits, white space. None where any text is not
    plainly one, and Python has to judge."""

# --- bind/random.cpp (owner: _base) --------------------------------------------------------------------------------

def sample_keys(
    state: int, ids: npt.NDArray[np.int64], view: int = 0, draws: npt.NDArray[np.int64] | None = None
) -> npt.NDArray[np.uint64]:
    """The hash `state` continued by each id, the view, and the id's draw (0 without `draws`)."""

# --- bind/rows.cpp (owner: datasets) -------------------------------------------------------------------------------

def tuple_columns(samples: Sequence[Any], num_parts: int) -> list[tuple[Any, ...]] | None:
    """The parts of samples side by side, one tuple a part.

    None where not all are plain tuples of so many parts, or are not themselves in a plain list or tuple.
    """

def joined_content(values: Sequence[Any]) -> bytearray | None:
    """The content of values with the buffer protocol, one after another.

    None where there are none, or they are of several types, shapes or formats, or one does not lie in one piece, or
    they are not in a plain list or tuple.
    """

# --- bind/lock_probe.cpp (owner: engine) ---------------------------------------------------------------------------

class LockProbe:
    """Asks for Python's lock now and then, to see how long others hold it."""

    def __init__(self) -> None: ...
    def run(self, tick_s: float) -> None:
        """Sleeps for about a tick without the lock and asks for it, again and again, in the thread that calls this,
        until `stop`."""
    def stop(self) -> None:
        """Ends `run`. From any thread."""
    def taken(self) -> tuple[int, int, float, float]:
        """Since the last call: how often the lock was asked for, and how often it was held then; the seconds asleep,
        and those of waiting for it."""
