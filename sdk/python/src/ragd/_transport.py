"""The transports that the generated clients call."""

from ._async.transport import AsyncTransport
from ._sync.transport import Transport

__all__ = ["AsyncTransport", "Transport"]
