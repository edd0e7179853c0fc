"""The document of the API, made from the table of endpoints and their models, and a page that shows it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic.json_schema import models_json_schema

from matroid_bandits._version import __version__
from matroid_bandits.service._dispatch import Endpoint
from matroid_bandits.service._schemas import Problem

_REF = "#/components/schemas/{model}"
_CHANGING = ("decide", "admin")


@cache
def openapi(endpoints: tuple[Endpoint, ...]) -> dict[str, Any]:
    """The OpenAPI document of some endpoints."""
    refs, schemas = _schemas(endpoints)
    paths: dict[str, dict[str, Any]] = {}
    for each in endpoints:
        operation: dict[str, Any] = {
            "operationId": f"{each.method.lower()}{each.path.replace('/', '_').replace('{', '').replace('}', '')}",
            "summary": each.summary,
            "description": f"Needs a key that may {each.role}." if each.role else "Needs no key.",
            "parameters": _parameters(each),
            "responses": {str(each.status): _response(each, refs), "default": _problem(refs)},
        }
        if each.body is not None:
            schema = {"schema": refs[each.body, "validation"]}
            operation["requestBody"] = {"content": {"application/json": schema}, "required": False}
        paths.setdefault(each.path, {})[each.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "matroid-bandits",
            "version": __version__,
            "description": "Ask for sets, tell what their items were worth.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "mb_..."}},
        },
        "security": [{"key": []}, {}],
    }


def docs_page(document: dict[str, Any]) -> str:
    """The document as a page without scripts."""
    environment = Environment(
        loader=PackageLoader("matroid_bandits.service"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template("docs.html").render(api=document)


def _schemas(endpoints: Iterable[Endpoint]) -> tuple[Any, dict[str, Any]]:
    models: list[Any] = [(Problem, "serialization")]
    for each in endpoints:
        models += [(each.body, "validation")] if each.body is not None else []
        models += [(each.answer, "serialization")] if each.answer is not None else []
    refs, document = models_json_schema(list(dict.fromkeys(models)), ref_template=_REF)
    schemas = document["$defs"]
    for schema in schemas.values():
        schema["description"] = schema.get("description", "").split("\n\n")[0]
    return refs, schemas


def _parameters(each: Endpoint) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if "{name}" in each.path:
        found.append({"name": "name", "in": "path", "required": True, "schema": {"type": "string"}})
    for name, kind in each.query.items():
        found.append({"name": name, "in": "query", "required": False, "schema": {"type": kind}})
    if each.method == "POST" and each.role in _CHANGING:
        schema = {"type": "string", "minLength": 1, "maxLength": 200}
        found.append({"name": "Idempotency-Key", "in": "header", "required": False, "schema": schema})
    return found


def _response(each: Endpoint, refs: Any) -> dict[str, Any]:
    if each.answer is None:
        return {"description": each.summary, "content": {"text/event-stream": {"schema": {"type": "string"}}}}
    schema = refs[each.answer, "serialization"]
    return {"description": each.answer.__doc__ or "", "content": {"application/json": {"schema": schema}}}


def _problem(refs: Any) -> dict[str, Any]:
    schema = refs[Problem, "serialization"]
    return {"description": "What went wrong.", "content": {"application/problem+json": {"schema": schema}}}
