"""All kinds of sources, and which of them a path is."""

from __future__ import annotations

from headrace.errors import OptionError
from headrace.pack.image_folder import ImageFolderSource
from headrace.pack.listing import ListSource
from headrace.pack.options import PackOptions
from headrace.pack.repack import ShardsSource
from headrace.pack.sibling_files import SiblingSource
from headrace.pack.source import Source
from headrace.sources.columns import ListOptions
from headrace.sources.kinds import SourceKind
from headrace.sources.recognise import recognise

SOURCES: dict[SourceKind, Source] = {
    source.kind: source for source in (ImageFolderSource(), SiblingSource(), ListSource(), ShardsSource())
}


def choose(path: str, options: PackOptions) -> tuple[Source, str]:
    """The kind of source that a path is, or is said to be, and why.

    Raises:
        SourceError: Nothing that is known.
        OptionError: Options for lists, and the source is none.
    """
    kind, reason = (options.source, "it was asked for") if options.source != "auto" else recognise(path)
    if kind != "list" and options.list_options != ListOptions():
        got = f"{path}, taken for {kind} ({reason})"
        raise OptionError("columns are named, but the source is no list", got=got, accepted="a list")
    return SOURCES[kind], reason
