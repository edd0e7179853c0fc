"""Pages as HTML: the list of campaigns, one campaign, the login. Their numbers come from the API, live."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from matroid_bandits._util import extras
from matroid_bandits._version import __version__
from matroid_bandits.exceptions import AccessError, MatroidBanditsError
from matroid_bandits.service._access import counted
from matroid_bandits.service._dispatch import COOKIE, HEADERS, check_own_site
from matroid_bandits.service._keys import KEY, SESSION, SESSION_S, Key, close_session, open_session
from matroid_bandits.service._protocol import network
from matroid_bandits.service._service import Service

if TYPE_CHECKING:
    from jinja2 import Environment

_FORM_SIZE = 4096


@dataclass(frozen=True)
class Visitor:
    """Who looks at a page, as far as templates need to know."""

    role: str
    may_create: bool
    can_leave: bool
    until: str = ""


def page_routes(service: Service) -> list[BaseRoute]:
    """Routes of the pages, of the login, and of the files that pages load."""

    root = service.settings.root_path
    cookie: dict[str, Any] = {"path": root or "/", "httponly": True, "samesite": "strict"}
    page, missing = partial(_page, root=root), partial(_missing, root=root)

    def redirect(path: str) -> RedirectResponse:
        return _redirect(root + path)

    async def campaigns(request: Request) -> Response:
        key = await _key(request, service)
        if isinstance(key, Response):
            return key
        if key.campaign is not None:  # the key is for nothing else
            return redirect(f"/campaigns/{quote(key.campaign, safe='')}")
        return page("campaigns.html", visitor=_visitor(key, request, service), here="campaigns")

    async def campaign(request: Request) -> Response:
        key, name = await _key(request, service), request.path_params["name"]
        if isinstance(key, Response):
            return key
        if key.campaign is not None and key.campaign != name:
            problem = f"Your key is for the campaign {key.campaign} alone."
            return missing(403, "Not for this key", problem, visitor=_visitor(key, request, service))
        try:
            is_known = await run_in_threadpool(_is_known, service, name)
        except Exception:  # the page says what is wrong, and looks again
            is_known = True
        if not is_known:
            problem = f"There is no campaign called {name}."
            return missing(404, "No such campaign", problem, visitor=_visitor(key, request, service))
        return page("campaign.html", visitor=_visitor(key, request, service), name=name)

    async def login(request: Request) -> Response:
        if service.keys.is_open:
            return redirect("/")
        return page("login.html", next=_inside(request.query_params.get("next", "/")), problem="")

    async def enter(request: Request) -> Response:
        problem, target, text, session = "", "/", "", ""
        address = network(request.client.host if request.client else "")
        if (seconds := service.attempts.wait(address)) > 0.0:
            problem = f"Too many wrong keys came from your address. Try again in {math.ceil(seconds)} seconds."
            response = page("login.html", 429, next="/", problem=problem)
            response.headers["Retry-After"] = str(math.ceil(seconds))
            return response
        try:
            check_own_site(request)
            form = parse_qs(await _form(request))
            target, text = _inside(form.get("next", ["/"])[0]), form.get("key", [""])[0].strip()
            key = await service.keys.look_up(text, KEY)
            if key.id:
                session = await run_in_threadpool(open_session, service.database, key.id)
            service.attempts.right(address)
        except AccessError as error:
            problem = _words(error, text)
            if text and getattr(error, "is_unknown", False):
                service.attempts.wrong(address)
                service.figures.count("wrong_keys", "login")
        except MatroidBanditsError as error:
            problem = f"The key could not be checked: {error}."
        except SQLAlchemyError:
            problem = "The database does not answer. Try again in a moment."
        if problem:
            return page("login.html", 401, next=target, problem=problem)
        response = redirect(target)
        if session:
            is_secure = request.url.scheme == "https"
            response.set_cookie(COOKIE, session, max_age=int(SESSION_S), secure=is_secure, **cookie)
        return response

    async def leave(request: Request) -> Response:
        try:
            check_own_site(request)
            await run_in_threadpool(close_session, service.database, request.cookies.get(COOKIE, ""))
            await service.keys.read_since(time.monotonic())  # this server refuses it from now on
        except AccessError as error:
            return missing(403, "Not signed out", f"{error}.")
        except (MatroidBanditsError, SQLAlchemyError):
            problem = "The database does not answer, so the login is still good. Try again in a moment."
            return missing(503, "Not signed out", problem)
        response = redirect("/login")
        response.delete_cookie(COOKIE, **cookie)
        return response

    def route(method: str, path: str, handler: Any) -> Route:
        return Route(path, counted(service.watch_requests, f"{method} {path}", handler), methods=[method])

    return [
        route("GET", "/", campaigns),
        route("GET", "/campaigns/{name}", campaign),
        route("GET", "/login", login),
        route("POST", "/login", enter),
        route("POST", "/logout", leave),
        Mount("/static", _Files(packages=[("matroid_bandits.service.dashboard", "static")])),
    ]


def docs_page(api: dict[str, Any], curl: Callable[[str, str, dict[str, Any]], str], root: str = "") -> Response:
    """The document of the API as a page, with a command for each endpoint."""
    return _page("docs.html", root=root, here="docs", api=api, curl=curl)


class _Files(StaticFiles):
    """Files that a browser keeps, and asks for again only where they have changed."""

    def file_response(self, full_path: Any, stat_result: Any, scope: Scope, status_code: int = 200) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(HEADERS | {"Cache-Control": "no-cache"})
        return response


async def _key(request: Request, service: Service) -> Key | Response:
    """Whose login the browser shows, or where to go without one."""
    session, root = request.cookies.get(COOKIE, ""), service.settings.root_path
    try:
        return await service.keys.look_up(session, SESSION)
    except AccessError:
        if not session and request.headers.get("sec-fetch-site") == "cross-site":
            # A browser keeps the login to itself when a link elsewhere leads here; asked from this page, it sends it.
            return _page("again.html", path=root + quote(request.url.path))
        return _redirect(f"{root}/login?next={quote(request.url.path, safe='')}")
    except MatroidBanditsError as error:
        return _missing(503, "Not available", f"{error}. Try again in a moment.", root=root)


async def _form(request: Request) -> str:
    """The text of a form as browsers send it; as much of it as a login needs."""
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > _FORM_SIZE:
            break
    return content[:_FORM_SIZE].decode("utf-8", "replace")


def _is_known(service: Service, name: str) -> bool:
    with service.database.reading() as connection:
        return service.database.find(connection, name) is not None


def _visitor(key: Key, request: Request, service: Service) -> Visitor:
    ends = time.time() + service.keys.seconds_left(request.cookies.get(COOKIE, ""))
    until = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(ends)) if key.id else ""
    return Visitor(key.role, key.role == "admin" and key.campaign is None, bool(key.id), until)


def _words(error: AccessError, text: str) -> str:
    """What was wrong with a login, for a person."""
    if not getattr(error, "is_unknown", False):
        return f"{error}."
    if not text:
        return "No key was given."
    if "expired" in str(error):
        return "This key has expired. An operator of the service can make another."
    return "This key is not known here. It may be mistyped, or it was revoked."


def _inside(path: str) -> str:
    """A path to go on to after the login; never one of another site."""
    is_page = path.startswith("/campaigns/") and "//" not in path and "\\" not in path and path.isprintable()
    return path if is_page else "/"


def _redirect(path: str) -> RedirectResponse:
    return RedirectResponse(path, 303, HEADERS)


def _missing(status: int, heading: str, problem: str, **values: Any) -> Response:
    """A page that says why another one is not shown."""
    return _page("missing.html", status, heading=heading, problem=problem, **values)


def _page(template: str, status: int = 200, **values: Any) -> Response:
    html = _templates().get_template(template).render(_GIVEN | values)
    return Response(html, status, HEADERS, media_type="text/html; charset=utf-8")


#: What every template may use.
_GIVEN = {"visitor": None, "here": "", "version": __version__, "root": ""}


@cache
def _templates() -> Environment:
    """The templates, in which everything is escaped."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:  # pragma: no cover - installed wherever the tests run
        raise extras.missing("pages need jinja2", "serve") from error
    return Environment(
        loader=PackageLoader("matroid_bandits.service.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
