"""Checks an OpenAPI document: against OpenAPI 3.1, and its examples against their schemas."""

import json
import sys

from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import validate
from referencing import Registry
from referencing.jsonschema import DRAFT202012

with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
validate(document)

registry = Registry().with_resource("urn:api", DRAFT202012.create_resource(document))
examples = 0
for path, item in document["paths"].items():
    body = item["post"]["requestBody"]["content"]["application/json"]
    if "example" not in body:
        continue
    schema = {"$ref": body["schema"]["$ref"].replace("#", "urn:api#")}
    OAS31Validator({**schema, "unevaluatedProperties": False}, registry=registry).validate(body["example"])
    examples += 1
if examples < 10:
    sys.exit(f"{examples} examples, want 10")
print(f"{len(document['paths'])} calls, {examples} examples are valid")
