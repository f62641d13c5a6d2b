"""What is uploaded, and how far it is."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, Union

from ._errors import FieldViolation, RagdError, invalid
from ._protocol import PIECE
from .api import Document, Job, UploadDocumentRequest, UploadDocumentsRequest, UploadError

#: What can be uploaded: a file by its path, bytes, or an open binary file.
Source = Union["os.PathLike[str]", bytes, BinaryIO]

#: Bytes up to which a document is sent as one message, which can be repeated.
WHOLE = 8 << 20


@dataclass(frozen=True)
class UploadProgress:
    """How far an upload is."""

    phase: Literal["sending", "processing", "done"]
    uri: str
    sent_bytes: int
    #: None for a stream whose size is not known.
    total_bytes: int | None
    #: Chunks that were embedded, and all, in the unit of the job.
    done: int = 0
    total: int = 0


@dataclass(frozen=True)
class UploadResult:
    """A document that was uploaded, and the job that makes it searchable."""

    document: Document
    job: Job


class Content:
    """The content of a source, as a whole or in pieces."""

    def __init__(self, source: Source | str) -> None:
        self.text: str | None = None
        self.whole: bytes | None = None
        self.size: int | None = None
        self._path: Path | None = None
        self._file: BinaryIO | None = None
        if isinstance(source, str):
            self.text = source
            self.size = len(source.encode())
        elif isinstance(source, (bytes, bytearray, memoryview)):
            self.whole = bytes(source)
            self.size = len(self.whole)
        elif isinstance(source, os.PathLike):
            self._path = Path(source)
            try:
                self.size = self._path.stat().st_size
                if self.size <= WHOLE:
                    self.whole = self._path.read_bytes()
            except OSError as error:
                raise invalid("source", f"cannot be read: {error}") from error
        elif hasattr(source, "read"):
            self._file = source
            first = source.read(WHOLE + 1)
            if not isinstance(first, bytes):
                raise invalid("source", "is a file opened as text; open it with the mode rb")
            if len(first) <= WHOLE:
                self.whole, self.size = first, len(first)
            self._first = first
        else:
            raise invalid("source", f"must be a path, bytes, a text or a binary file, not {type(source).__name__}")

    @property
    def fits(self) -> bool:
        """Whether it is sent as one message."""
        return self.whole is not None or (self.text is not None and (self.size or 0) <= WHOLE)

    def put(self, request: UploadDocumentRequest) -> None:
        """Puts content that fits into a request."""
        if self.text is not None:
            request["text"] = self.text
        else:
            request["content"] = b64encode(self.whole or b"").decode()

    def pieces(self) -> Iterator[bytes]:
        """Yields the content."""
        if self.text is not None:
            data = self.text.encode()
            yield from (data[i : i + PIECE] for i in range(0, len(data), PIECE))
        elif self._path is not None:
            with self._path.open("rb") as file:
                while piece := file.read(PIECE):
                    yield piece
        elif self._file is not None:
            yield from (self._first[i : i + PIECE] for i in range(0, len(self._first), PIECE))
            while piece := self._file.read(PIECE):
                yield piece


def continued(piece: bytes) -> UploadDocumentsRequest:
    """Returns the message of a stream with a piece of content."""
    return {"content": b64encode(piece).decode()}


def refused(error: UploadError) -> RagdError:
    """Returns the error with which a stream refused a document."""
    violations = [FieldViolation(error["field"], error["message"])] if error.get("field") else []
    return RagdError(error["message"], error["code"], violations, error.get("retryDelaySeconds") or None)


def files_below(folder: Path) -> list[tuple[str, Path]]:
    """Returns the files of a folder as (uri, path), in order; none whose name begins with a dot."""
    if not folder.is_dir():
        raise invalid("folder", f"{folder} is no folder")
    found: list[tuple[str, Path]] = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            path = Path(place, name)
            if not name.startswith(".") and path.is_file():
                found.append((path.relative_to(folder).as_posix(), path))
    return sorted(found)


def seconds(value: float | None) -> str | None:
    """Returns a number of seconds as the API takes a duration."""
    return None if value is None else f"{value:.9f}s"


def given(**values: Any) -> dict[str, Any]:
    """Returns the values that are not None, by their names in the API."""
    return {name: value for name, value in values.items() if value is not None}
