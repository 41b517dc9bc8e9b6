"""Reader of documents from folders and files, with the URI of each file and errors that name it."""

from __future__ import annotations

import re
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from enforcer import documents as files
from enforcer.errors import ConfigurationError, brief
from enforcer.schema.bundling.documents import Documents

if TYPE_CHECKING:
    from collections.abc import Iterable

    Sources = str | PathLike[str] | Iterable[str | PathLike[str]]

_SERVED = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:[^=]*)=(.+)\Z", re.DOTALL)


def read_documents(sources: Sources) -> Documents:
    """Read documents from the file system, and from nowhere else.

    Args:
        sources: one source or several. Each is a file, or a folder with all `.json` files in it
            and its sub-folders, whose documents are known by their `$id`; or `URI=FOLDER`
            (`URI=FILE`), whose files are known by their paths below the URI.

    Raises:
        ConfigurationError: a file cannot be read or is no document; the error names it. Or a
            source is no path.

    """
    schemas, where = read_schemas(sources)
    return Documents(schemas, where=where)


def read_schemas(sources: Sources) -> tuple[dict[str, Any], dict[str, str]]:
    """Read JSON files by their URIs.

    Args:
        sources: as `read_documents` takes them.

    Returns:
        The parsed JSON of each file by URI, and the file's name by URI.

    Raises:
        ConfigurationError: a file cannot be read, has no URI, or shares one; or a folder is empty.

    """
    schemas: dict[str, Any] = {}
    where: dict[str, str] = {}
    for source in _listed(sources):
        served = _SERVED.match(source)
        path = Path(served[2] if served else source)
        for file in _files(path):
            value = _value(file)
            if served is None:
                uri = _own(value, file)
            elif path.is_dir():
                below = quote(file.relative_to(path).as_posix())
                uri = f"{served[1].rstrip('/')}/{below}"
            else:
                uri = served[1]
            if uri in schemas:
                raise ConfigurationError(f"{file}: {uri!r:.200} is also the URI of {where[uri]}")
            schemas[uri], where[uri] = value, str(file)
    return schemas, where


def _listed(sources: Sources) -> list[str]:
    """Return one source or several as a list of strings; raise ConfigurationError for others."""
    try:
        several = (sources,) if isinstance(sources, str | PathLike) else sources
        found = [fspath(each) for each in several]
        if all(isinstance(each, str) for each in found):
            return found
    except TypeError:
        pass  # raised below
    raise ConfigurationError(f"documents are read from paths, not from {brief(sources)}")


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(
        file
        for file in path.rglob("*.json")
        # In a ConfigMap mounted by Kubernetes, each file is below `..data` once more.
        if file.is_file() and not any(p.startswith("..") for p in file.relative_to(path).parts)
    )
    if not found:
        raise ConfigurationError(f"{path} has no .json file")
    return found


def _value(file: Path) -> Any:
    read = files.read(file)
    if len(read) != 1:
        raise ConfigurationError(f"{file} has {len(read)} values, and not one JSON Schema")
    return read[0].value


def _own(value: Any, file: Path) -> str:
    for keyword in ("$id", "id"):
        own = value.get(keyword) if isinstance(value, dict) else None
        if isinstance(own, str):
            return own.rstrip("#")
    raise ConfigurationError(
        f"{file} has no `$id` that references could name it by; give it one, or say where its "
        "folder is served: URI=FOLDER"
    )
