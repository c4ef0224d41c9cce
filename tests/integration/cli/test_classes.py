"""`headrace index --classes` finds class names in labels and keeps them for `classes="auto"`."""

import json

import pytest

import headrace as hr

LABELS = [["cat", "鳥"], [], ["dog"], None, ["cat"]]


@pytest.fixture
def shards(tmp_path):
    """Five samples in two shards: names in JSON, one sample without any, and a `class` of text."""
    with hr.ShardWriter(tmp_path / "s-%02d.tar", samples_per_shard=3, extra={"note": "kept"}) as writer:
        for number, names in enumerate(LABELS):
            objects = {} if names is None else {"objects": [{"name": name} for name in names]}
            writer.write(
                {"__key__": f"k{number}", "json": objects, "class": f"c{number % 2}\n".encode(), "cls": number}
            )
    return tmp_path


def test_names_are_found_kept_and_shown(headrace, shards):
    result = headrace("index", shards, "--classes", "json:objects[].name")
    assert result.exit_code == 0, result.stderr
    assert "classes  3: cat, dog, 鳥" in result.stdout
    kept = json.loads((shards / "index.json").read_text())["headrace"]
    assert kept == {"note": "kept", "class_names": ["cat", "dog", "鳥"]}
    assert "classes  3: cat, dog, 鳥" in headrace("info", shards).stdout
    dataset = hr.ShardDataset(shards, fields=hr.field("json", get="objects[].name", classes="auto"), missing="none")
    assert dataset.classes == ("cat", "dog", "鳥")
    assert [None if labels is None else labels.tolist() for labels in dataset] == [[0, 2], [], [1], None, [0]]
    assert headrace("index", shards, "--json").exit_code == 0
    assert hr.ShardDataset(shards).classes == ("cat", "dog", "鳥")


def test_names_of_text_fields(headrace, shards):
    facts = json.loads(headrace("index", shards, "--classes", "class", "--json").stdout)
    assert facts["class_names"] == ["c0", "c1"]
    dataset = hr.ShardDataset(shards, fields=hr.field("class", classes="auto"))
    assert list(dataset) == [0, 1, 0, 1, 0]


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("json:objects[].size", "no sample has a label"),
        ("json:objects", "a label is no name"),
        ("json:objects[", "is no path"),
        ("json:[0]", "cannot be asked for"),
        ("nothing", "no sample has a label at nothing"),
        ("jpg", "cannot be of kind"),
    ],
)
def test_fields_that_hold_no_names_change_nothing(headrace, shards, field, said):
    before = (shards / "index.json").read_bytes()
    result = headrace("index", shards, "--classes", field)
    assert result.exit_code != 0
    assert said in result.stderr.replace("\n", " ")
    assert (shards / "index.json").read_bytes() == before
