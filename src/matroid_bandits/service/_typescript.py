"""A client in TypeScript, made from the document of the API: a type for every form, a method for every endpoint."""

from __future__ import annotations

import json
import re
from typing import Any

_HEAD = """// A client of the decision service. Made by: matroid-bandits schema typescript > matroid-bandits.ts
// It needs fetch, which browsers, Node 18 and later, Deno and Bun have.

/* eslint-disable */
"""

_CLIENT = """
/** What the server had against a request. */
export class BanditsError extends Error {
  constructor(readonly status: number, readonly problem: Partial<Problem>) {
    super(problem.detail ?? problem.title ?? `The server answered with status ${status}.`);
    this.name = problem.error ?? "BanditsError";
  }
}

export interface Options {
  /** A key, mb_..., or a token that may tell one decision, mbt_... */
  key?: string;
  /** How often a request is sent again after a lost answer, 429 or 503; it happens once. */
  retries?: number;
  /** Milliseconds after which one attempt is given up. */
  timeout?: number;
}

type Query = Record<string, string | number | boolean | undefined>;

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

/** One server, seen through one key. */
export class Bandits {
  private readonly address: string;

  constructor(address: string, private readonly options: Options = {}) {
    this.address = address.replace(/\\/+$/, "");
  }

  private headers(): Record<string, string> {
    return this.options.key ? { Authorization: `Bearer ${this.options.key}` } : {};
  }

  private url(path: string, query: Query = {}): string {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const text = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
    return this.address + path + (text && `?${text}`);
  }

  private async send(
    method: string,
    path: string,
    query: Query,
    body: unknown,
    isChange: boolean,
  ): Promise<Response> {
    const headers: Record<string, string> = this.headers();
    if (isChange) headers["Idempotency-Key"] = crypto.randomUUID(); // sent again, it happens once
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const retries = this.options.retries ?? 3;
    for (let attempt = 0; ; attempt++) {
      const control = new AbortController();
      const timer = setTimeout(() => control.abort(), this.options.timeout ?? 10_000);
      let wait = 200 * 2 ** attempt;
      try {
        const content = body === undefined ? undefined : JSON.stringify(body);
        const response = await fetch(this.url(path, query), {
          method,
          headers,
          body: content,
          signal: control.signal,
        });
        if (response.ok) return response;
        const problem = (await response.json().catch(() => ({}))) as Partial<Problem>;
        const error = new BanditsError(response.status, problem);
        if (attempt >= retries || (response.status !== 429 && response.status !== 503)) throw error;
        wait = Math.max(wait, 1000 * Number(response.headers.get("Retry-After") ?? 0));
      } catch (error) {
        if (error instanceof BanditsError || attempt >= retries) throw error;
      } finally {
        clearTimeout(timer);
      }
      await pause(wait);
    }
  }

  private async json<T>(method: string, path: string, query: Query, body: unknown, isChange: boolean): Promise<T> {
    return (await (await this.send(method, path, query, body, isChange)).json()) as T;
  }

  private async text(method: string, path: string, query: Query, body: unknown, isChange: boolean): Promise<string> {
    return (await this.send(method, path, query, body, isChange)).text();
  }

  /** The log of a campaign as it grows, from the event after `after`; ends when the server drains. */
  async *follow(name: string, after = 0, signal?: AbortSignal): AsyncGenerator<LoggedEvent> {
    const path = this.url(`/v1/campaigns/${encodeURIComponent(name)}/stream`, { after });
    const response = await fetch(path, { headers: this.headers(), signal });
    if (!response.ok) throw new BanditsError(response.status, (await response.json()) as Partial<Problem>);
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    let text = "";
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        text += decoder.decode(value, { stream: true });
        const parts = text.split("\\n\\n");
        text = parts.pop()!;
        for (const part of parts) {
          const data = /^data: (.*)$/m.exec(part)?.[1];
          if (/^event: end$/m.test(part)) return;
          if (data !== undefined && !/^event: summary$/m.test(part)) yield JSON.parse(data) as LoggedEvent;
        }
      }
    } finally {
      await reader.cancel();
    }
  }
"""


def typescript(document: dict[str, Any]) -> str:
    """Return the source of a TypeScript client for the endpoints of an OpenAPI document.

    Examples
    --------
    >>> from matroid_bandits.service._openapi import openapi
    >>> from matroid_bandits.service._routes import ENDPOINTS
    >>> source = typescript(openapi(ENDPOINTS))
    >>> "ask(name: string, body: AskBody = {}): Promise<DecisionAnswer>" in source
    True
    """
    schemas = document["components"]["schemas"]
    types = [_declaration(name, schema) for name, schema in schemas.items()]
    events = schemas["EventsAnswer"]["properties"]["events"]["items"]
    types.append(
        f"/** An event of a log; `event` says of which kind. */\nexport type LoggedEvent = {_type(events)};\n"
    )
    methods = [
        _method(path, method, about)
        for path, operations in document["paths"].items()
        for method, about in operations.items()
        if path not in ("/docs", "/openapi.json") and not path.endswith("/stream")
    ]
    return "\n".join([_HEAD, *types, _CLIENT + "\n" + "\n\n".join(methods) + "\n}\n"])


def _declaration(name: str, schema: dict[str, Any]) -> str:
    about = _comment(schema.get("description", ""))
    if "properties" not in schema:
        return f"{about}export type {name} = {_type(schema)};\n"
    required = schema.get("required", [])
    lines = []
    for key, field in schema["properties"].items():
        # A literal that tells kinds of events apart is always there.
        is_required = key in required or "const" in field
        lines.append(
            f"  {_comment(field.get('description', ''), '  ')}{key}{'' if is_required else '?'}: {_type(field)};"
        )
    if schema.get("additionalProperties") is True:
        lines.append("  [key: string]: unknown;")
    return f"{about}export interface {name} {{\n" + "\n".join(lines) + "\n}\n"


def _comment(text: str, indent: str = "") -> str:
    words = " ".join(text.split()).replace("*/", "* /")
    return f"/** {words} */\n{indent}" if words else ""


def _type(schema: Any) -> str:
    """The type of what a JSON Schema describes."""
    if not isinstance(schema, dict) or not schema:
        return "unknown"
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(dict.fromkeys(_type(each) for each in schema[key]))
    if "allOf" in schema:
        return " & ".join(_type(each) for each in schema["allOf"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_type(schema | {"type": each}) for each in kind)
    if kind == "array":
        if "prefixItems" in schema:
            return f"[{', '.join(_type(each) for each in schema['prefixItems'])}]"
        inner = _type(schema.get("items", {}))
        return f"({inner})[]" if re.search(r"[|&]", inner) else f"{inner}[]"
    if kind == "object":
        inner = schema.get("additionalProperties", {})
        return f"Record<string, {_type(inner)}>"
    return {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "null": "null"}.get(
        str(kind), "unknown"
    )


def _method(path: str, method: str, about: dict[str, Any]) -> str:
    parameters = [] if "{name}" not in path else ["name: string"]
    body = "undefined"
    if "requestBody" in about:
        model = _type(about["requestBody"]["content"]["application/json"]["schema"])
        parameters.append(f"body: {model}" if about["requestBody"]["required"] else f"body: {model} = {{}}")
        body = "body"
    query = [each for each in about["parameters"] if each["in"] == "query"]
    if query:
        fields = "; ".join(f"{each['name']}?: {_type(each['schema'])}" for each in query)
        parameters.append(f"query: {{ {fields} }} = {{}}")
    is_change = any(each["name"] == "Idempotency-Key" for each in about["parameters"])
    content = next(response["content"] for status, response in about["responses"].items() if status < "300")
    media, answer = next(iter(content.items()))
    url = "`" + path.replace("{name}", "${encodeURIComponent(name)}") + "`"
    arguments = f'"{method.upper()}", {url}, {"query" if query else "{}"}, {body}, {str(is_change).lower()}'
    result = _type(answer["schema"]) if media == "application/json" else "string"
    call = f"this.json<{result}>({arguments})" if media == "application/json" else f"this.text({arguments})"
    return (
        f"  /** {about['summary']} {about['description']} */\n"
        f"  {_name(path, method)}({', '.join(parameters)}): Promise<{result}> {{\n    return {call};\n  }}"
    )


def _name(path: str, method: str) -> str:
    """What a method is called: by the end of the path, and by the verb where several share one."""
    known = {
        ("get", "/v1/campaigns"): "campaigns",
        ("post", "/v1/campaigns"): "create",
        ("get", "/v1/campaigns/{name}"): "show",
        ("put", "/v1/campaigns/{name}"): "apply",
        ("delete", "/v1/campaigns/{name}"): "remove",
        ("post", "/v1/campaigns/{name}/estimates"): "estimatesOf",
    }
    if (method, path) in known:
        return known[method, path]
    first, *rest = [part for part in re.split(r"[/_-]", path.removeprefix("/v1/campaigns/{name}")) if part]
    return first + "".join(part.capitalize() for part in rest)
