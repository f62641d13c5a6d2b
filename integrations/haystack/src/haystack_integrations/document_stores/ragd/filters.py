"""Filters of Haystack as filters of ragd."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from haystack.errors import FilterError

_LOGIC = {"AND": "$and", "OR": "$or", "NOT": "$not"}
_ORDER = {">": "$gt", ">=": "$gte", "<": "$lt", "<=": "$lte"}

#: Fields of a document itself, which are not in its metadata.
_OWN = ("id", "content", "blob", "embedding", "score", "sparse_embedding")

#: The metadata that keeps the id of a document. It begins with a letter, so that it is compared as a text.
KEY = "_haystack_key"


def key_of(document_id: str) -> str:
    """Returns the value of KEY for a document."""
    return "k" + document_id


def filter_of(filters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Returns the filter, None if it selects everything. Errors: FilterError.

    As in Haystack's own store, a field that is missing is not equal to anything and not in any list.
    """
    return _condition(filters, negated=False) if filters else None


def _condition(condition: Any, *, negated: bool) -> dict[str, Any]:
    if not isinstance(condition, dict):
        raise FilterError("a filter must be a dictionary")
    if "field" in condition:
        return _comparison(condition, negated=negated)
    for name in ("operator", "conditions"):
        if name not in condition:
            raise FilterError(f"'{name}' key missing in {condition}")
    operator, conditions = condition["operator"], condition["conditions"]
    if operator not in _LOGIC or not isinstance(conditions, list):
        raise FilterError(f"unknown operator {operator!r}; known are AND, OR and NOT, with a list of conditions")
    negated = negated or operator == "NOT"
    parts = [_condition(part, negated=negated) for part in conditions]
    return {"$not": {"$and": parts}} if operator == "NOT" else {_LOGIC[operator]: parts}


def _comparison(condition: dict[str, Any], *, negated: bool) -> dict[str, Any]:
    for name in ("operator", "value"):
        if name not in condition:
            raise FilterError(f"'{name}' key missing in {condition}")
    operator, value = condition["operator"], condition["value"]
    field, value = _field(condition["field"], value)
    if isinstance(value, datetime):
        value = value.isoformat()
    if operator == "==":
        found = {field: {"$eq": value}}
        return found if value is None or not negated else {"$and": [{field: {"$ne": None}}, found]}
    if operator == "!=":
        return {field: {"$ne": None}} if value is None else {"$or": [{field: {"$ne": value}}, {field: None}]}
    if operator in ("in", "not in"):
        if not isinstance(value, list):
            raise FilterError(f"the operator {operator!r} needs a list, got {type(value).__name__}")
        if operator == "in":
            parts: list[dict[str, Any]] = [{field: {"$in": [one for one in value if one is not None]}}]
            if None in value:
                parts.append({field: None})
            return {"$and": [{field: {"$ne": None}}, parts[0]]} if negated and len(parts) == 1 else {"$or": parts}
        outside = {field: {"$nin": [one for one in value if one is not None]}}
        return {"$and": [{field: {"$ne": None}}, outside]} if None in value else {"$or": [outside, {field: None}]}
    if operator not in _ORDER:
        raise FilterError(f"unknown operator {operator!r}; known are ==, !=, >, >=, <, <=, in and not in")
    if value is None:
        return {"$or": []}
    if isinstance(value, str):
        try:
            datetime.fromisoformat(value)
        except ValueError as error:
            raise FilterError(f"the operator {operator!r} compares numbers and ISO dates, not {value!r}") from error
    elif not isinstance(value, int | float):
        raise FilterError(f"the operator {operator!r} compares numbers and ISO dates, not a {type(value).__name__}")
    found = {field: {_ORDER[operator]: value}}
    return {"$and": [{field: {"$ne": None}}, found]} if negated else found


def _field(field: Any, value: Any) -> tuple[str, Any]:
    if not isinstance(field, str) or not field:
        raise FilterError("a field must be a name")
    if field == "id":
        return KEY, [key_of(one) for one in value] if isinstance(value, list) else key_of(value)
    if field in _OWN:
        raise FilterError(f"documents cannot be selected by {field!r}, only by 'id' and by their metadata")
    name = field.removeprefix("meta.")
    return ("\\" + name if name.lstrip("\\").startswith("$") else name), value
