from __future__ import annotations

import io
import tarfile
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.shards import ShardFile, ShardIndex, iterate_shard, verify_shard
from headrace.shards.names import fault_of_key

KEYS = st.one_of(
    st.text(max_size=20),
    st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=60), min_size=1, max_size=5).map(
        "/".join
    ),
)
FIELDS = st.dictionaries(
    st.sampled_from(["jpg", "cls", "seg.png", "x-y", "ä"]), st.binary(max_size=700), min_size=1, max_size=4
)
SAMPLES = st.dictionaries(KEYS.filter(lambda key: fault_of_key(key) is None), FIELDS, max_size=6)


@given(SAMPLES)
@settings(max_examples=60)
def test_what_is_written_reads_back_everywhere(samples: dict[str, dict[str, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.tar"
        with ShardFile(path) as shard:
            for key, fields in samples.items():
                shard.add(key, fields)
        written = path.read_bytes()
        table = ShardIndex.open(path).table
        indexed = {
            table.key(i): {field: written[offset : offset + size] for field, offset, size in table.members_of(i)}
            for i in range(table.num_samples)
        }
        streamed = {sample.key: dict(sample.fields) for sample in iterate_shard(path)}
        assert verify_shard(path).is_sound
    assert indexed == streamed == samples
    with tarfile.open(fileobj=io.BytesIO(written)) as tar:
        members = {info.name: tar.extractfile(info).read() for info in tar}  # type: ignore[union-attr]
    assert members == {f"{key}.{field}": data for key, fields in samples.items() for field, data in fields.items()}
