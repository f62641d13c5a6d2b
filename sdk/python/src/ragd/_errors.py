"""Errors of calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import Job


@dataclass(frozen=True)
class FieldViolation:
    """A field of a request that the service refused, and why."""

    field: str
    description: str


@dataclass
class RagdError(Exception):
    """An error of a call. Its message names the field, the limit and what to do."""

    message: str
    #: Which kind of error it is, as the Connect protocol names it: not_found, invalid_argument, ...
    code: str = "unknown"
    #: The fields that are wrong, of an invalid_argument.
    field_violations: list[FieldViolation] = field(default_factory=list)
    #: Seconds after which the service asks to try again; None if it does not say.
    retry_after: float | None = None
    #: The id with which the service's log names the request.
    request_id: str | None = None

    def __post_init__(self) -> None:
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


@dataclass
class JobError(RagdError):
    """A job has failed or was cancelled."""

    job: Job = field(default_factory=dict)  # type: ignore[assignment]


def invalid(name: str, description: str) -> RagdError:
    """Returns the error for an argument that cannot be sent."""
    return RagdError(f"{name}: {description}", "invalid_argument", [FieldViolation(name, description)])


#: The codes of HTTP answers that are not the service's own, such as those of a proxy.
_codes_of_status = {
    400: "internal",
    401: "unauthenticated",
    403: "permission_denied",
    404: "unimplemented",
    429: "unavailable",
    502: "unavailable",
    503: "unavailable",
    504: "unavailable",
}


def error_of(body: Any, status: int, retry_after: str | None, request_id: str | None) -> RagdError:
    """Returns the error of an answer: body is its decoded JSON, None if it had none."""
    found = body if isinstance(body, dict) and isinstance(body.get("code"), str) else None
    if found is None:
        return RagdError(f"the service answered with status {status}", _codes_of_status.get(status, "unknown"), [], _seconds(retry_after), request_id)
    violations: list[FieldViolation] = []
    seconds = _seconds(retry_after)
    for detail in found.get("details") or []:
        debug = detail.get("debug") or {}
        if detail.get("type") == "google.rpc.BadRequest":
            violations += [FieldViolation(v.get("field", ""), v.get("description", "")) for v in debug.get("fieldViolations") or []]
        if detail.get("type") == "google.rpc.RetryInfo" and seconds is None:
            seconds = _seconds(str(debug.get("retryDelay", "")).removesuffix("s"))
    return RagdError(str(found.get("message") or found["code"]), found["code"], violations, seconds, request_id)


def _seconds(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
