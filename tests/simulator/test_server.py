"""The door: tokens, methods, the log of calls, rate limits, faults, strangers, and a quick end."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import socket
import subprocess
import sys
import time
from typing import Any

import httpx
import pytest

from .driver import ADA, TOKEN, Driver, running

GROUP = -1001234567890


async def test_a_wrong_token_is_unauthorized(sim: Driver) -> None:
    outcome = await sim.call("getMe", token="12345:wrong")
    assert outcome.body == {"ok": False, "error_code": 401, "description": "Unauthorized"}
    assert outcome.status == 401


async def test_methods_by_any_case_and_verb(sim: Driver) -> None:
    assert (await sim.call("GETME")).result["username"] == "tapgate_bot"
    assert (await sim.client.get(f"/bot{TOKEN}/getMe")).json()["result"]["id"] == 12345
    sent = await sim.client.get(f"/bot{TOKEN}/sendmessage", params={"chat_id": ADA, "text": "äöü"})
    assert sent.json()["result"]["text"] == "äöü"
    unknown = await sim.call("sendPigeon")
    assert (unknown.status, unknown.description) == (404, "Not Found")


async def test_calls_are_logged_in_order_with_unknown_parameters(sim: Driver) -> None:
    await sim.send("one", surprise=1, link_preview_options={"is_disabled": True})
    await sim.send("")
    first, second = (await sim.read("calls"))["calls"]
    assert (first["n"], first["method"], first["status"]) == (1, "sendMessage", 200)
    assert first["params"]["surprise"] == 1
    assert first["unknown_params"] == ["surprise"]
    assert (second["status"], second["description"]) == (400, "Bad Request: message text is empty")
    assert (await sim.read("calls", since=1))["calls"] == [second]
    assert TOKEN not in str(first)


async def test_a_private_chat_is_limited_by_itself_and_recovers(sim: Driver) -> None:
    statuses = [(await sim.send(str(number))).status for number in range(20)]
    assert set(statuses) == {200}
    refused = await sim.send("too fast")
    assert refused.status == 429
    assert refused.body["parameters"] == {"retry_after": 1}
    assert refused.description == "Too Many Requests: retry after 1"
    assert (await sim.send("someone else", chat_id=102)).status == 200
    tap = await sim.tap(1, data="x", forge=True)
    assert (await sim.call("answerCallbackQuery", callback_query_id=tap)).status == 200
    await sim.advance(1)
    assert (await sim.send("later")).status == 200


async def test_a_group_has_20_a_minute(sim: Driver) -> None:
    await sim.control("chats", id=GROUP, title="Team", members=[ADA])
    for number in range(20):
        assert (await sim.send(str(number), chat_id=GROUP)).status == 200
    refused = await sim.send("too fast", chat_id=GROUP)
    assert refused.body["parameters"]["retry_after"] in (2, 3)
    await sim.advance(3)
    assert (await sim.send("later", chat_id=GROUP)).status == 200


async def test_rate_limits_can_be_switched_off(sim: Driver) -> None:
    await sim.control("limits", enabled=False)
    assert {(await sim.send(str(number))).status for number in range(60)} == {200}


ANSWERS = {
    "400": (400, "Bad Request: message can't be edited"),
    "401": (401, "Unauthorized"),
    "403": (403, "Forbidden: bot was blocked by the user"),
    "404": (404, "Not Found"),
    "409": (409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"),
    "429": (429, "Too Many Requests: retry after 7"),
    "500": (500, "Internal Server Error"),
    "404html": (404, None),
    "502": (502, None),
    "garbage": (200, None),
    "empty": (200, None),
}


@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize("kind", ANSWERS)
async def test_a_fault_that_answers(sim: Driver, kind: str, *, applied: bool) -> None:
    await sim.control("faults", method="sendMessage", kind=kind, retry_after=7, applied=applied)
    assert (await sim.call("getMe")).status == 200, "other methods are not hit"
    outcome = await sim.send("x")
    status, description = ANSWERS[kind]
    assert outcome.status == status
    if description is None:
        assert outcome.body is None
    else:
        assert outcome.description == description
    assert len(await sim.messages()) == (1 if applied else 0)
    assert (await sim.read("faults"))["faults"] == []
    assert (await sim.send("x")).status == 200


@pytest.mark.parametrize("applied", [False, True])
async def test_a_dropped_connection(sim: Driver, *, applied: bool) -> None:
    await sim.control("faults", method="*", kind="drop", times=2, applied=applied)
    for _ in range(2):
        with pytest.raises(httpx.RemoteProtocolError):
            await sim.send("x")
    assert len(await sim.messages()) == (2 if applied else 0)
    assert [call["description"] for call in (await sim.read("calls"))["calls"]] == ["connection dropped"] * 2
    assert (await sim.send("x")).status == 200


@pytest.mark.parametrize("applied", [False, True])
async def test_a_stalled_answer_comes_late(sim: Driver, *, applied: bool) -> None:
    await sim.control("faults", method="sendMessage", kind="stall", stall_s=0.2, applied=applied)
    began = time.monotonic()
    assert (await sim.send("x")).status == 200
    assert time.monotonic() - began >= 0.2
    assert len(await sim.messages()) == 1


@pytest.mark.parametrize("applied", [False, True])
async def test_giving_up_on_a_stalled_send_leaves_what_was_applied(sim: Driver, *, applied: bool) -> None:
    await sim.control("faults", method="sendMessage", kind="stall", stall_s=60, applied=applied)
    with pytest.raises(httpx.ReadTimeout):
        await sim.client.post(f"/bot{TOKEN}/sendMessage", json={"chat_id": ADA, "text": "x"}, timeout=0.2)
    while (await sim.read("calls"))["calls"][0]["status"] is None:
        await sim.read("wait", since=(await sim.read("state"))["seq"], wait_s=0.2)
    assert len(await sim.messages()) == (1 if applied else 0)


async def test_a_refusal_can_be_worded_and_kept_to_one_message_or_to_formatted_texts(sim: Driver) -> None:
    first, second = [(await sim.send("x")).result["message_id"] for _ in range(2)]

    async def edit(message_id: int, **more: str) -> str | None:
        outcome = await sim.call("editMessageText", chat_id=ADA, message_id=message_id, text=f"{more}", **more)
        return outcome.description if outcome.status != 200 else None

    await sim.control("faults", method="editMessageText", kind="400", times=-1, message_id=first, description="No.")
    assert (await edit(first), await edit(second)) == ("No.", None)
    await sim.client.delete("/control/faults")
    await sim.control("faults", method="editMessageText", kind="400", times=-1, only_html=True)
    assert (await edit(first), await edit(first, parse_mode="HTML")) == (None, "Bad Request: message can't be edited")


async def test_faults_can_be_listed_and_cleared(sim: Driver) -> None:
    await sim.control("faults", method="getMe", kind="500", times=-1)
    assert {(await sim.call("getMe")).status for _ in range(5)} == {500}
    [fault] = (await sim.read("faults"))["faults"]
    assert (fault["method"], fault["kind"], fault["times"]) == ("getMe", "500", -1)
    await sim.client.delete("/control/faults")
    assert (await sim.call("getMe")).status == 200
    bad = await sim.client.post("/control/faults", json={"kind": "flood"})
    assert bad.status_code == 400


async def test_wait_returns_at_the_next_change(sim: Driver) -> None:
    seq = (await sim.read("state"))["seq"]
    waiting = asyncio.create_task(sim.read("wait", since=seq, wait_s=10))
    await sim.say("hello")
    assert (await waiting)["seq"] > seq
    assert (await sim.read("wait", since=10**6, wait_s=0.05))["seq"] < 10**6


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("users", {"id": -1, "first_name": "x"}),
        ("chats", {"id": 5, "title": "x"}),
        ("clock", {"advance_s": -1}),
        ("message", {"user_id": ADA, "chat_id": ADA, "text": "x", "wrong": 1}),
        ("message", {"user_id": ADA, "chat_id": ADA, "text": "x" * 4097}),
    ],
)
async def test_wrong_control_input_is_named(sim: Driver, path: str, body: dict[str, Any]) -> None:
    response = await sim.client.post(f"/control/{path}", json=body)
    assert response.status_code == 400
    assert response.json()["error"]


async def test_a_host_name_that_is_not_this_machine_is_refused(sim: Driver) -> None:
    for path in ("/", "/control/state", f"/bot{TOKEN}/getMe"):
        response = await sim.client.get(path, headers={"Host": "evil.example"})
        assert response.status_code == 403
    port = sim.url.rpartition(":")[2]
    assert (await sim.client.get("/", headers={"Host": f"localhost:{port}"})).status_code == 200


async def test_pages_of_other_origins_cannot_tap(sim: Driver) -> None:
    card = await sim.card("a")
    body = {"user_id": ADA, "chat_id": ADA, "message_id": card, "data": "a"}
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        for path in ("/phone/tap", "/control/tap"):
            assert (await sim.client.post(path, json=body, headers=headers)).status_code == 403
    assert await sim.updates() == []
    assert (await sim.client.post("/phone/tap", json=body, headers={"Origin": sim.url})).status_code == 200


async def test_the_page_allows_no_foreign_script_even_with_a_hole(sim: Driver) -> None:
    page = await sim.client.get("/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
    assert "http://" not in page.text.replace("http://www.w3.org", "") and "https://" not in page.text
    for name in ("app.js", "bubble.js", "entities.js", "style.css"):
        content = (await sim.client.get(f"/page/{name}")).text
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", content)
    assert (await sim.client.get("/page/..%2fapp.py")).status_code == 404


async def test_the_stream_starts_with_everything_and_goes_on_with_changes(sim: Driver) -> None:
    await sim.send("before")
    async with sim.client.stream("GET", "/phone/events", params={"user": ADA}) as response:
        lines = response.aiter_lines()

        async def until(event: str) -> str:
            async for line in lines:
                if line == f"event: {event}":
                    return await anext(lines)
            raise AssertionError("the stream ended")

        assert "before" in await until("state")
        await sim.send("for someone else", chat_id=102)
        await sim.send("after")
        assert "after" in await until("message")
    assert (await sim.client.get("/phone/events", params={"user": 999})).status_code == 404


async def test_update_ids_grow_over_a_restart() -> None:
    ids: list[int] = []
    for _ in range(2):
        with running() as url:
            async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
                sim = Driver(url, client)
                await sim.say("hello")
                ids.append((await sim.updates())[0]["update_id"])
    assert ids[1] >= ids[0]


def test_a_port_in_use_is_an_error_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        from tapgate.simulator import serve

        with pytest.raises(OSError):
            asyncio.run(serve(port=port, token=TOKEN, users=[], on_ready=lambda url: None))
        with pytest.raises(ValueError, match="loopback"):
            asyncio.run(serve(port=0, token=TOKEN, users=[], on_ready=lambda url: None, host="0.0.0.0"))


SCRIPT = f"""
import asyncio
from tapgate.simulator import serve
asyncio.run(serve(port=0, token={TOKEN!r}, users=[(1, "A")], on_ready=lambda url: print(url, flush=True)))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_within_a_second_in_spite_of_open_polls_and_streams(number: int) -> None:
    with subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as client:
            sim = Driver(url, client)
            poll = asyncio.create_task(sim.call("getUpdates", timeout=50))
            async with client.stream("GET", "/phone/events") as response:
                await anext(response.aiter_lines())
                await sim.until(lambda state: state["pollers"] == 1)
                began = time.monotonic()
                process.send_signal(number)
                status = await asyncio.to_thread(process.wait, 10)
                took_s = time.monotonic() - began
            with contextlib.suppress(httpx.HTTPError):
                await poll
    assert status == 0
    assert took_s < 1


def test_it_stands_alone() -> None:
    """Importing the simulator pulls in neither the daemon nor the Telegram client."""
    code = "import sys, tapgate.simulator; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"telegram", "httpx"} & set(modules)
    ours = {name for name in modules if name.startswith("tapgate.")}
    assert all(name.startswith("tapgate.simulator") for name in ours)
