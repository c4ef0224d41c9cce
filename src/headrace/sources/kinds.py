"""What a source of loose files or shards can be."""

from __future__ import annotations

from typing import Literal, TypeAlias

SourceKind: TypeAlias = Literal["image-folder", "siblings", "list", "shards"]
"""What a source can be; `docs/guide/pack.md` and `docs/guide/files.md` show one of each."""

Dots: TypeAlias = Literal["refuse", "replace"]
"""What happens to dots inside of file names, which would cut the key short: refused, or replaced by underscores."""
