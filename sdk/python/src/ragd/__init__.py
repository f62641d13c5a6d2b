"""Client of ragd, a retrieval service for many tenants: upload, search, graph search and answers."""

from ._async.answer import AsyncAnswer
from ._async.client import AsyncRagd
from ._async.index import AsyncRagdIndex
from ._errors import FieldViolation, JobError, RagdError
from ._protocol import Retry
from ._sync.answer import Answer
from ._sync.client import Ragd
from ._sync.index import RagdIndex
from ._upload import UploadProgress, UploadResult

__all__ = [
    "Answer",
    "AsyncAnswer",
    "AsyncRagd",
    "AsyncRagdIndex",
    "FieldViolation",
    "JobError",
    "Ragd",
    "RagdError",
    "RagdIndex",
    "Retry",
    "UploadProgress",
    "UploadResult",
]
