"""Options of `headrace pack` as the packer gets them."""

from __future__ import annotations

import pytest

from headrace.cli.pack import parse_fields
from headrace.errors import OptionError


def test_columns_that_become_fields():
    assert parse_fields(["caption=txt", "a=b=json"]) == {"caption": "txt", "a=b": "json"}
    assert parse_fields(None) == {}


@pytest.mark.parametrize("text", ["caption", "=txt", "caption=", "caption=.txt"])
def test_what_is_not_column_and_field_is_refused(text):
    with pytest.raises(OptionError, match="COLUMN=FIELD"):
        parse_fields([text])
