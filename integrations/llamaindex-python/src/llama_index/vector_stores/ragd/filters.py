"""Metadata filters of LlamaIndex as filters of ragd."""

from __future__ import annotations

from typing import Any

from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

_COMPARISONS = {
    FilterOperator.EQ: "$eq",
    FilterOperator.GT: "$gt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LT: "$lt",
    FilterOperator.LTE: "$lte",
    FilterOperator.IN: "$in",
    FilterOperator.ANY: "$in",
    FilterOperator.ALL: "$all",
    FilterOperator.TEXT_MATCH_INSENSITIVE: "$contains",
}
_LISTS = (FilterOperator.IN, FilterOperator.NIN, FilterOperator.ANY, FilterOperator.ALL)


def filter_of(filters: MetadataFilters | None) -> dict[str, Any] | None:
    """Returns the filter, None if it selects everything. Errors: ValueError for a value that an operator cannot have.

    As in LlamaIndex's own store, a field that is missing is not equal to anything and not in any list.
    """
    if filters is None or not filters.filters:
        return None
    return _group(filters, negated=False)


def _group(filters: MetadataFilters, *, negated: bool) -> dict[str, Any]:
    condition = filters.condition or FilterCondition.AND
    negated = negated or condition == FilterCondition.NOT
    parts = []
    for part in filters.filters:
        if isinstance(part, MetadataFilters):
            if part.filters:
                parts.append(_group(part, negated=negated))
        else:
            parts.append(_one(part, negated=negated))
    return {{FilterCondition.AND: "$and", FilterCondition.OR: "$or", FilterCondition.NOT: "$nor"}[condition]: parts}


def _one(asked: MetadataFilter, *, negated: bool) -> dict[str, Any]:
    field = asked.key.replace(".", "\\.")
    if field.lstrip("\\").startswith("$"):
        field = "\\" + field
    operator, value = asked.operator, asked.value
    if operator == FilterOperator.IS_EMPTY:
        return {"$or": [{field: None}, {field: ""}, {field: {"$size": 0}}]}
    if value is None:
        raise ValueError(f"filters.{asked.key}: the operator {operator.value} needs a value")
    if (operator in _LISTS) != isinstance(value, list) and operator not in (FilterOperator.EQ, FilterOperator.NE):
        raise ValueError(f"filters.{asked.key}: the operator {operator.value} needs {'a list' if operator in _LISTS else 'one value'}")
    if operator == FilterOperator.NE:
        return {"$or": [{field: {"$ne": value}}, {field: None}]}
    if operator == FilterOperator.NIN:
        return {"$or": [{field: {"$nin": value}}, {field: None}]}
    if operator == FilterOperator.CONTAINS:
        found: dict[str, Any] = {field: {"$in": [value]}}
    elif operator == FilterOperator.TEXT_MATCH:
        found = {field: {"$regex": "***=" + str(value)}}  # the text itself, not a pattern
    elif operator in _COMPARISONS:
        found = {field: {_COMPARISONS[operator]: value}}
    else:
        raise ValueError(f"filters.{asked.key}: the operator {operator.value} is unknown")
    # A comparison with a missing field is unknown, and its negation too, unless the field is asked for.
    return {"$and": [{field: {"$ne": None}}, found]} if negated else found
