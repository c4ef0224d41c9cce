"""The text of an error."""

from headrace.errors import ShardError


def test_names_from_strangers_cannot_command_a_terminal_and_can_be_printed():
    error = ShardError("a shard is odd", shard="x\x1b[2J.tar", key="k\udcff", got="a\rb\nc")
    text = str(error)
    text.encode()
    assert "\x1b" not in text
    assert r"shard=x\x1b[2J.tar" in text
    assert r"key=k\udcff" in text
    assert r"a\rb\nc" in text, "a name is no line of ours"
    assert error.where["key"] == "k\udcff", "the attribute is the name itself"
