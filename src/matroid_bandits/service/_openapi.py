"""The document of the API, made from the table of endpoints and their models, and a page that shows it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from http import HTTPStatus
from typing import Any

from pydantic.json_schema import models_json_schema
from pydantic_core import to_json

from matroid_bandits._util.names import CAMPAIGN_NAME
from matroid_bandits._version import __version__
from matroid_bandits.service._dispatch import Endpoint
from matroid_bandits.service._limits import REQUEST_ID
from matroid_bandits.service._schemas import Problem
from matroid_bandits.specs import LABEL_SCHEMA

#: A body for each endpoint that takes one; they are sent one after the other by a test.
EXAMPLES: dict[str, Any] = {
    "/v1/campaigns": {
        "name": "front-page",
        "matroid": {
            "kind": "partition",
            "category": "slot",
            "rows": [
                {"item": "boots", "slot": "left"},
                {"item": "sandals", "slot": "left"},
                {"item": "hat", "slot": "right"},
                {"item": "scarf", "slot": "right"},
            ],
        },
        "policy": {"policy": "OMM", "scale": 1.0},
        "answers": "clicks",
        "answer_window": 3600,
    },
    "/v1/campaigns/{name}/observe": {"weights": {"boots": 0.2}},
    "/v1/campaigns/{name}/ask": {"exclude": ["boots"]},
    "/v1/campaigns/{name}/ask/batch": {"requests": [{}, {"pinned": ["hat"]}]},
    "/v1/campaigns/{name}/tell": {"decision": 1, "weights": [1.0, 0.0]},
    "/v1/campaigns/{name}/tell/batch": {"answers": [{"decision": 2, "weights": [0.0, 1.0]}]},
    "/v1/campaigns/{name}/close": {"decision": 3, "default": 0.0},
    "/v1/campaigns/{name}/change": {
        "matroid": {
            "kind": "partition",
            "category": "slot",
            "rows": [{"item": "hat", "slot": "right"}, {"item": "gloves", "slot": "left"}],
        }
    },
    "/v1/campaigns/{name}/restart": {"items": ["hat"]},
    "/v1/campaigns/{name}/estimates": {"items": ["hat"]},
    "/v1/campaigns/{name}/explain": {"item": "hat"},
    "/v1/campaigns/{name}/preview": {"exclude": ["hat"]},
}

_PLACES = {"campaigns": 0, "observe": 1, "archive": 3}

_REF = "#/components/schemas/{model}"
_CHANGING = ("decide", "admin")


@cache
def openapi(endpoints: tuple[Endpoint, ...], root: str = "", needs_key: bool = True) -> dict[str, Any]:
    """The OpenAPI document of some endpoints, which a proxy may have under a path, with or without keys."""
    refs, schemas = _schemas(endpoints)
    paths: dict[str, dict[str, Any]] = {}
    for each in sorted(endpoints, key=_place):
        operation: dict[str, Any] = {
            "operationId": f"{each.method.lower()}{each.path.replace('/', '_').replace('{', '').replace('}', '')}",
            "summary": each.summary,
            "description": f"Requires a key of role {each.role}." if each.role else "Requires no key.",
            **({} if each.role else {"security": []}),
            "parameters": _parameters(each),
            "responses": {str(each.status): _response(each, refs), **_refusals(each, refs)},
        }
        if each.body is not None and each.method != "GET":
            ref = refs[each.body, "validation"]
            content = {"schema": ref} | ({"example": EXAMPLES[each.path]} if each.path in EXAMPLES else {})
            is_required = _needs_body(schemas, ref)
            operation["requestBody"] = {"content": {"application/json": content}, "required": is_required}
        paths.setdefault(each.path, {})[each.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "matroid-bandits",
            "version": __version__,
            "description": "HTTP API of the decision service: ask for sets of items, tell their observed weights.",
        },
        "servers": [{"url": root or "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "mb_..."}},
        },
        "security": [{"key": []}] if needs_key else [],
    }


def _place(each: Endpoint) -> int:
    """Where an endpoint comes in the document: what must be done first before the others, ends at the end."""
    return _PLACES.get(each.path.rpartition("/")[2], 2) if each.method != "DELETE" else 4


def curl(method: str, path: str, about: dict[str, Any]) -> str:
    """A command that calls an endpoint; the address and the key are variables of the shell."""
    parts = ["curl"]
    if about.get("needs_key", True):
        parts.append('-H "Authorization: Bearer $KEY"')
    if method not in ("get", "post"):
        parts.append(f"-X {method.upper()}")
    if method in ("post", "put"):
        content = about.get("requestBody", {}).get("content", {}).get("application/json", {})
        body = to_json(content.get("example", {})).decode()
        parts += ['-H "Content-Type: application/json"', f"-d '{body}'"]
    return " ".join([*parts, f'"$URL{path.replace("{name}", "front-page")}"'])


def _schemas(endpoints: Iterable[Endpoint]) -> tuple[Any, dict[str, Any]]:
    models: list[Any] = [(Problem, "serialization")]
    for each in endpoints:
        models += [(each.body, "validation")] if each.body is not None else []
        models += [(each.answer, "serialization")] if each.answer is not None else []
    refs, document = models_json_schema(list(dict.fromkeys(models)), ref_template=_REF)
    schemas = {name: _served(schema) for name, schema in document["$defs"].items() if name != "OwnSpec"}
    for schema in schemas.values():
        schema["description"] = schema.get("description", "").split("\n\n")[0]
    return refs, schemas | {"Label": LABEL_SCHEMA}


def _served(schema: Any) -> Any:
    """A schema of specs without what a server refuses, files and code; labels are a component."""
    if isinstance(schema, list):
        return [_served(part) for part in schema if not _is_refused(part)]
    if not isinstance(schema, dict):
        return schema
    if schema.get("anyOf") == LABEL_SCHEMA["anyOf"]:
        return {"$ref": _REF.format(model="Label")} | {key: schema[key] for key in ("title",) if key in schema}
    found = {key: _served(part) for key, part in schema.items()}
    properties = found.get("properties", {})
    if {"file", "rows"} <= properties.keys():  # a table
        del properties["file"]
        properties["rows"] = _without_null(properties["rows"])
        found["required"] = [*found.get("required", []), "rows"]
    return found


def _is_refused(part: Any) -> bool:
    """Whether a choice of a schema imports code."""
    return part == {"$ref": _REF.format(model="OwnSpec")} or (isinstance(part, dict) and "x-imports-code" in part)


def _needs_body(schemas: dict[str, Any], ref: Any) -> bool:
    """Whether a body cannot be left out: all its forms have keys that are required."""
    schema = schemas[ref["$ref"].rpartition("/")[2]] if "$ref" in ref else ref
    if "required" in schema:
        return True
    forms = schema.get("oneOf", ())
    return bool(forms) and all(_needs_body(schemas, form) for form in forms)


def _parameters(each: Endpoint) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if "{name}" in each.path:
        schema: dict[str, Any] = {"type": "string", "pattern": CAMPAIGN_NAME}
        found.append({"name": "name", "in": "path", "required": True, "schema": schema})
    about = {} if each.query is None else each.query.model_json_schema()["properties"]
    for name, schema in about.items():
        schema = _without_null(schema)
        words = schema.pop("description", "")
        found.append({"name": name, "in": "query", "required": False, "description": words, "schema": schema})
    if each.method in ("POST", "PUT") and each.role in _CHANGING:
        schema = {"type": "string", "pattern": REQUEST_ID}
        found.append({"name": "Idempotency-Key", "in": "header", "required": False, "schema": schema})
    return found


def _response(each: Endpoint, refs: Any) -> dict[str, Any]:
    if each.answer is None:
        return {"description": each.summary, "content": {each.media_type: {"schema": {"type": "string"}}}}
    schema = refs[each.answer, "serialization"]
    return {"description": each.answer.__doc__ or "", "content": {"application/json": {"schema": schema}}}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a value of a query, which is left out where it is null."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if not kinds:
        return dict(schema)
    return {**kinds[0], **{key: part for key, part in schema.items() if key not in ("anyOf", "default")}}


def _refusals(each: Endpoint, refs: Any) -> dict[str, Any]:
    """The statuses that an endpoint refuses requests with, apart from those of a server's mistakes."""
    found = {503} if each.role or each.path == "/readyz" else set[int]()
    if each.role:
        found |= {400, 401, 403, 429}
    if "{name}" in each.path:
        found |= {404}
    if each.body is not None and each.method != "GET":
        found |= {413, 415, 422}
    if each.role in _CHANGING:
        found |= {409}
    if each.path.rpartition("/")[2] in ("events", "stream", "explain"):
        found |= {410, 413}
    content = {"application/problem+json": {"schema": refs[Problem, "serialization"]}}
    return {str(status): {"description": HTTPStatus(status).phrase, "content": content} for status in sorted(found)}
