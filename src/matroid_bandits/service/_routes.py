"""The endpoints of the API, version 1: one table, and a short function for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic_core import from_json, to_json
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from matroid_bandits.exceptions import AccessError
from matroid_bandits.service import _actions as act
from matroid_bandits.service import _reads as reads
from matroid_bandits.service import _schemas as forms
from matroid_bandits.service._apply import apply
from matroid_bandits.service._dispatch import Call, Endpoint, Handler
from matroid_bandits.service._limits import check_batch, check_constraint, check_sizes
from matroid_bandits.service._operation import Action, Answer
from matroid_bandits.service._replica import stored_terms
from matroid_bandits.service._sizes import campaign_sizes, database_sizes
from matroid_bandits.service._stream import stream
from matroid_bandits.specs import CampaignSpec, SettingsSpec


async def _ask(call: Call) -> Answer:
    run, seconds = act.read_ask(call.content)
    answer = await call.write(run, "ask")
    return answer if seconds is None else await _with_tokens(call, answer, [seconds])


async def _ask_batch(call: Call) -> Answer:
    body = call.body(forms.AskBatchBody)
    settings = call.service.settings
    check_batch(len(body.requests), settings)
    wanted = [act.request_of(request) for request in body.requests]
    answer = await call.write(act.ask_all(wanted, settings), "ask")
    seconds = [request.token for request in body.requests]
    return await _with_tokens(call, answer, seconds) if any(seconds) else answer


async def _with_tokens(call: Call, answer: Answer, seconds: list[int | None]) -> Answer:
    """The same decisions with tokens that may tell them; made anew when a request is sent again."""

    def sign() -> bytes:
        form = from_json(answer.body)
        for decision, good_for in zip(form.get("decisions", [form]), seconds, strict=True):
            if good_for is not None:
                decision["token"] = call.service.tokens.sign(
                    call.name, decision["learner"], decision["decision"], call.key.id, good_for
                )
        return to_json(form)

    return Answer(await run_in_threadpool(sign), answer.status, answer.is_replayed)


async def _tell(call: Call) -> Answer:
    only = call.key.decision
    run, decision = act.read_tell(call.content)
    if only is None:
        return await call.write(run)
    if decision != only:
        raise AccessError(f"expected an answer to decision {only}, as the token says, got one to {decision}")
    return await call.write(act.of_learner(call.key.learner, run))


async def _tell_batch(call: Call) -> Answer:
    body = call.body(forms.TellBatchBody)
    check_batch(len(body.answers), call.service.settings)
    return await call.write(act.tell_all(body.answers))


def _writing(make: Callable[[Any], Action]) -> Handler:
    """An endpoint that executes what its body asks for."""

    async def handle(call: Call) -> Answer:
        return await call.write(make(call.body(call.endpoint.body)))

    return handle


def _reading(read: Callable[..., Any], *, is_timed: bool = False) -> Handler:
    """An endpoint that reads from the replica, with what its body and its query say, and the database's time."""

    async def handle(call: Call) -> Answer:
        given = {} if call.endpoint.body is None else dict(call.body(call.endpoint.body))
        given |= {} if call.endpoint.query is None else dict(call.query(call.endpoint.query))
        given |= {"now": await run_in_threadpool(call.service.database.now)} if is_timed else {}
        return await _read(call, lambda replica: read(replica, **given))

    return handle


async def _create(call: Call) -> Answer:
    return await call.write(await _prepared(call, lambda: call.service.creating(call.body(CampaignSpec))))


async def _change(call: Call) -> Answer:
    def prepare() -> Any:
        body = call.body(forms.ChangeBody)
        constraint = body.ground().constraint
        check_constraint(constraint, call.service.settings)
        return act.change(constraint, body)

    return await call.write(await _prepared(call, prepare))


async def _apply(call: Call) -> Answer:
    is_dry, settings = call.query(forms.ApplyQuery).dry_run, call.service.settings

    def prepare() -> Any:
        plan = call.body(SettingsSpec).plan()
        if plan.ground is not None:
            check_constraint(plan.ground.constraint, settings)
        return apply(plan, settings, is_dry)

    run = await _prepared(call, prepare)
    if not is_dry:
        return await call.write(run)
    answer: Answer = await call.service.read(call.name, lambda replica: run(replica, None))
    return answer


async def _prepared(call: Call, prepare: Callable[[], Any]) -> Any:
    """What a body that lists items stands for, made apart from the event loop once its sizes are known."""
    try:
        data = from_json(call.content or b"{}")
    except ValueError:
        data = None  # the parser that reads it next says what is wrong
    check_sizes(data, call.service.settings)
    return await run_in_threadpool(prepare)


async def _list(call: Call) -> Answer:
    def read() -> list[Any]:
        with call.service.database.reading() as connection:
            return call.service.database.rows(connection)

    only = call.key.campaign
    rows = [row for row in await run_in_threadpool(read) if only is None or row.name == only]
    reading = call.service.reading
    forms = [reads.row_form(row, stored_terms(row), reading.get(row.name)) for row in rows]
    return _answer({"campaigns": forms})


async def _explain(call: Call) -> Answer:
    body = call.body(forms.ExplainBody).root
    if isinstance(body, forms.ExplainNextBody):
        wanted = act.request_of(body)
        return await _read(call, lambda replica: reads.explanation_form(replica, body.item, wanted, None))
    if body.as_decided:
        return _answer(await run_in_threadpool(call.service.past.explain, call.name, body.item, body.decision))
    return await _read(call, lambda replica: reads.explanation_form(replica, body.item, {}, body.decision))


async def _preview(call: Call) -> Answer:
    wanted = act.request_of(call.body(forms.AskBody))

    return await _read(call, lambda replica: replica.learner.preview(**wanted).to_dict())


async def _waiting(call: Call) -> Answer:
    limit = call.query(forms.WaitingQuery).limit
    return await _read(call, lambda replica: reads.waiting_form(replica, limit, call.service.settings.max_page))


async def _sizes(call: Call) -> Answer:
    def read() -> dict[str, Any]:
        database, name = call.service.database, call.name
        with database.reading() as connection:
            row = database.get(connection, name)
            found = campaign_sizes(database, connection, row, call.service.archive)
            return found | database_sizes(database, connection)

    return _answer(await run_in_threadpool(read))


async def _events(call: Call) -> Answer:
    query = call.query(forms.EventsQuery)
    after, limit = query.after, query.limit

    def read() -> Answer:
        database, name = call.service.database, call.name
        with database.reading() as connection:
            row = database.get(connection, name)
            found = database.page(connection, row.id, after, limit, call.service.settings.max_page)
            reads.check_kept(database.find(connection, name) or row, after)  # which may have moved meanwhile
        listed = ",".join(event_text(event) for event in found)
        is_more = bool(found) and found[-1].seq < row.seq
        return Answer(f'{{"events":[{listed}],"next":{found[-1].seq if is_more else "null"}}}'.encode())

    return await run_in_threadpool(read)


def event_text(row: Any) -> str:
    """An event of the log as JSON, with its number and time."""
    return f'{{"seq":{row.seq},"at":{row.at!r},{row.payload[1:]}'


async def _stream(call: Call) -> Response:
    return await stream(call, event_text)


async def _read(call: Call, read: Any) -> Answer:
    """Read from the replica on the writer's thread; JSON is made elsewhere."""
    found = await call.service.read(call.name, read)
    if len(found.get("labels", ())) > 1000:
        return await run_in_threadpool(_answer, found)
    return _answer(found)


def _answer(form: Any) -> Answer:
    return Answer(to_json(form, inf_nan_mode="null"))


_ONE = "/v1/campaigns/{name}"

#: Every endpoint of the API.
ENDPOINTS = (
    Endpoint("POST", f"{_ONE}/ask", _ask, "decide", "Ask for a set.", forms.AskBody, forms.DecisionAnswer),
    Endpoint("POST", f"{_ONE}/tell", _tell, "decide", "Tell the observed weights of a decision.", forms.TellBody,
             forms.ToldAnswer, takes_tokens=True),
    Endpoint("POST", f"{_ONE}/ask/batch", _ask_batch, "decide", "Ask for several sets, all or none.",
             forms.AskBatchBody, forms.DecisionsAnswer),
    Endpoint("POST", f"{_ONE}/tell/batch", _tell_batch, "decide",
             "Tell the observed weights of several decisions, all or none.", forms.TellBatchBody,
             forms.ToldBatchAnswer),
    Endpoint("POST", f"{_ONE}/close", _writing(act.close), "decide", "Stop waiting for missing weights.",
             forms.CloseBody, forms.ClosedAnswer),
    Endpoint("GET", "/v1/campaigns", _list, "read", "List campaigns.", None, forms.Summaries, is_local=True),
    Endpoint("POST", "/v1/campaigns", _create, "admin", "Create a campaign.", CampaignSpec, forms.CampaignAnswer, 201,
             lists_items=True),
    Endpoint("GET", _ONE, _reading(reads.campaign_form), "read", "Show a campaign.", None, forms.CampaignAnswer,
             query=forms.ShowQuery),
    Endpoint("PUT", _ONE, _apply, "admin", "Change the settings of a campaign; omitted settings stay.", SettingsSpec,
             forms.AppliedAnswer, query=forms.ApplyQuery, lists_items=True),
    Endpoint("POST", f"{_ONE}/change", _change, "admin", "Replace the constraint: items may be added or removed.",
             forms.ChangeBody, forms.CampaignAnswer, lists_items=True),
    Endpoint("POST", f"{_ONE}/restart", _writing(act.restart), "admin",
             "Discard the statistics of some items, or of all.", forms.RestartBody, forms.CampaignAnswer),
    Endpoint("POST", f"{_ONE}/observe", _writing(act.observe), "admin",
             "Record weights observed before the first decision.", forms.ObserveBody, forms.ObservedAnswer,
             lists_items=True),
    Endpoint("POST", f"{_ONE}/pause", _writing(lambda _: act.move("pause")), "admin",
             "Pause a campaign: asks are refused, tells are accepted.", forms.EmptyBody, forms.CampaignAnswer),
    Endpoint("POST", f"{_ONE}/resume", _writing(lambda _: act.move("resume")), "admin", "Resume a paused campaign.",
             forms.EmptyBody, forms.CampaignAnswer),
    Endpoint("POST", f"{_ONE}/archive", _writing(lambda _: act.move("archive")), "admin",
             "End a campaign; it can still be read.", forms.EmptyBody, forms.CampaignAnswer),
    Endpoint("GET", f"{_ONE}/alarms", _reading(reads.alarms_form), "read", "List alarms that were not acknowledged.",
             None, forms.AlarmsAnswer),
    Endpoint("POST", f"{_ONE}/acknowledge", _writing(act.acknowledge), "admin", "Acknowledge alarms.",
             forms.AcknowledgeBody, forms.AlarmsAnswer),
    Endpoint("GET", f"{_ONE}/estimates", _reading(reads.estimates_form), "read", "Return the estimates of all items.",
             None, forms.EstimatesAnswer, query=forms.ItemsQuery),
    Endpoint("POST", f"{_ONE}/estimates", _reading(reads.estimates_form), "read",
             "Return the estimates of some items, or for given features.", forms.EstimatesBody, forms.EstimatesAnswer,
             query=forms.ItemsQuery),
    Endpoint("POST", f"{_ONE}/explain", _explain, "read", "Explain why an item is in or out of a set.",
             forms.ExplainBody, forms.ExplanationAnswer),
    Endpoint("POST", f"{_ONE}/preview", _preview, "read", "Return the set that the next ask would choose.",
             forms.AskBody, forms.DecisionAnswer),
    Endpoint("GET", f"{_ONE}/best", _reading(reads.best_form), "read",
             "Return the set of largest mean weights so far.", None, forms.BestAnswer, query=forms.BestQuery),
    Endpoint("GET", f"{_ONE}/confidence", _reading(reads.confidence_form), "read",
             "Return the confidence in the best set, and the least certain exchanges.", None, forms.ConfidenceAnswer,
             query=forms.ConfidenceQuery),
    Endpoint("GET", f"{_ONE}/waiting", _waiting, "read", "List pending decisions.", None, forms.WaitingAnswer,
             query=forms.WaitingQuery),
    Endpoint("GET", f"{_ONE}/uplift", _reading(reads.uplift_form, is_timed=True), "read",
             "Return the uplift of the learner over its control.", None, forms.UpliftAnswer),
    Endpoint("GET", f"{_ONE}/history", _reading(reads.history_form, is_timed=True), "read",
             "Return counts and average weights over time.", None, forms.HistoryAnswer, query=forms.HistoryQuery),
    Endpoint("GET", f"{_ONE}/sizes", _sizes, "read", "Return the size of the campaign and of the database.", None,
             forms.SizesAnswer, is_local=True),
    Endpoint("GET", f"{_ONE}/events", _events, "read", "Return the events of the log after a given event.", None,
             forms.EventsAnswer, query=forms.EventsQuery, is_local=True),
    Endpoint("GET", f"{_ONE}/stream", _stream, "read", "Stream new events of the log, as server-sent events.", None,
             None, query=forms.StreamQuery),
)  # fmt: skip

#: Those that nearly all requests are for: asking and telling.
BUSIEST = ENDPOINTS[:2]
