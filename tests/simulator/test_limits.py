"""Each limit holds at its edge: the last allowed value passes, the next is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .driver import ADA, TOKEN, Driver


def keyboard(*rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"inline_keyboard": list(rows)}


def button(text: str = "Go", **fields: Any) -> dict[str, Any]:
    return {"text": text, **(fields or {"callback_data": "x"})}


@pytest.mark.parametrize("text", ["a" * 4096, "😀" * 2048, "é" * 4096])
async def test_a_text_of_4096_units_passes_and_one_more_does_not(sim: Driver, text: str) -> None:
    assert (await sim.send(text)).status == 200
    refused = await sim.send(text + "a")
    assert (refused.status, refused.description) == (400, "Bad Request: message is too long")


async def test_length_counts_after_parsing(sim: Driver) -> None:
    assert (await sim.send("<b>" + "&amp;" * 4096 + "</b>", parse_mode="HTML")).status == 200


@pytest.mark.parametrize("text", ["", " \n ", "\u200b", "<b></b>", "<i> </i>"])
async def test_an_empty_text_is_refused(sim: Driver, text: str) -> None:
    refused = await sim.send(text, parse_mode="HTML")
    assert refused.description == "Bad Request: message text is empty"


async def test_more_than_a_hundred_entities_are_refused_visibly(sim: Driver) -> None:
    assert (await sim.send("<b>a</b> " * 100, parse_mode="HTML")).status == 200
    assert "too many entities" in (await sim.send("<b>a</b> " * 101, parse_mode="HTML")).description


async def test_bad_html_is_refused_with_the_bot_apis_prefix(sim: Driver) -> None:
    refused = await sim.send("<foo>", parse_mode="HTML")
    assert refused.description == ('Bad Request: can\'t parse entities: Unsupported start tag "foo" at byte offset 0')


async def test_other_parse_modes_are_refused(sim: Driver) -> None:
    assert "unsupported in the simulator" in (await sim.send("*x*", parse_mode="MarkdownV2")).description
    assert (await sim.send("x", parse_mode="RTF")).description == "Bad Request: unsupported parse_mode"


@pytest.mark.parametrize("data", ["x" * 64, "é" * 32])
async def test_callback_data_of_64_bytes_passes_and_one_more_does_not(sim: Driver, data: str) -> None:
    assert (await sim.send("x", reply_markup=keyboard([button(callback_data=data)]))).status == 200
    refused = await sim.send("x", reply_markup=keyboard([button(callback_data=data + "x")]))
    assert refused.description == "Bad Request: BUTTON_DATA_INVALID"


@pytest.mark.parametrize(
    ("markup", "error"),
    [
        (keyboard([{"text": "Go"}]), "Text buttons are unallowed in the inline keyboard"),
        (keyboard([button(callback_data="")]), "Text buttons are unallowed in the inline keyboard"),
        (keyboard([button("")]), "BUTTON_TEXT_INVALID"),
        (keyboard([{"callback_data": "x"}]), 'Can\'t find field "text"'),
        (keyboard([button(callback_data=7)]), 'Field "callback_data" must be of type String'),
        (keyboard([button(callback_data="x", style="loud")]), "invalid button style specified"),
        (keyboard([button(url="javascript:alert(1)")]), "is invalid: Wrong HTTP URL"),
        (json.dumps(keyboard([button(callback_data="\ud800")])), "strings must be encoded in UTF-8"),
        ({"inline_keyboard": "x"}, "Array of Arrays"),
        ([], "object expected as reply markup"),
        ("{", "can't parse reply keyboard markup JSON object"),
        ({"force_reply": True, "input_field_placeholder": "x" * 65}, "placeholder is too long"),
        ({"keyboard": [["x"]]}, "unsupported in the simulator"),
    ],
)
async def test_bad_reply_markup_is_refused(sim: Driver, markup: Any, error: str) -> None:
    refused = await sim.send("x", reply_markup=markup)
    assert refused.status == 400
    assert error in refused.description


@pytest.mark.parametrize("style", ["danger", "success", "primary"])
async def test_button_styles(sim: Driver, style: str) -> None:
    markup = keyboard([button(callback_data="x", style=style)])
    sent = await sim.send("x", reply_markup=markup)
    assert sent.result["reply_markup"] == markup


async def test_keyboard_size(sim: Driver) -> None:
    full = [[button()] * 8] * 12 + [[button()] * 4]
    assert (await sim.send("x", reply_markup=keyboard(*full))).status == 200
    for rows in ([*full, [button()]], [[button()] * 9]):
        refused = await sim.send("x", reply_markup=keyboard(*rows))
        assert refused.description == "Bad Request: BUTTONS_TOO_MUCH"


async def test_a_placeholder_of_64_passes(sim: Driver) -> None:
    markup = {"force_reply": True, "input_field_placeholder": "x" * 64}
    await sim.send("x", reply_markup=markup)
    [message] = await sim.messages()
    assert (message["force_reply"], message["placeholder"]) == (True, "x" * 64)


async def test_callback_answer_length(sim: Driver) -> None:
    tap = await sim.tap(await sim.card("a"), data="a")
    assert (await sim.call("answerCallbackQuery", callback_query_id=tap, text="x" * 200)).result
    refused = await sim.call("answerCallbackQuery", callback_query_id=tap, text="x" * 201)
    assert refused.description == "Bad Request: MESSAGE_TOO_LONG"


async def test_lone_surrogates_and_broken_utf8_are_refused(sim: Driver) -> None:
    url = f"/bot{TOKEN}/sendMessage"
    bodies = [
        ("application/json", b'{"chat_id":101,"text":"\\ud83d"}'),
        ("application/x-www-form-urlencoded", b"chat_id=101&text=%ff"),
    ]
    for content_type, body in bodies:
        response = await sim.client.post(url, content=body, headers={"Content-Type": content_type})
        assert response.json()["description"] == "Bad Request: strings must be encoded in UTF-8"


async def upload(sim: Driver, content: bytes, caption: str = "") -> Any:
    response = await sim.client.post(
        f"/bot{TOKEN}/sendDocument",
        data={"chat_id": str(ADA), "caption": caption, "reply_markup": json.dumps(keyboard([button()]))},
        files={"document": ('a "b".bin', content, "application/x-thing")},
    )
    return response.json()


async def test_a_document_keeps_its_bytes_caption_and_buttons(sim: Driver) -> None:
    content = bytes(range(256)) * 20 + b"\r\n--\r\n"
    sent = (await upload(sim, content, "x" * 1024))["result"]
    assert sent["document"]["file_size"] == len(content)
    assert sent["document"]["mime_type"] == "application/x-thing"
    assert sent["caption"] == "x" * 1024
    [message] = await sim.messages()
    assert message["document"]["file_name"] == 'a "b".bin'
    assert message["buttons"] == [[button()]]
    download = await sim.client.get(message["document"]["url"])
    assert download.content == content
    assert download.headers["content-disposition"].startswith("attachment")
    again = await sim.call("sendDocument", chat_id=ADA, document=sent["document"]["file_id"])
    assert again.result["document"] == sent["document"]


async def test_document_limits(sim: Driver) -> None:
    assert (await upload(sim, b"x", "x" * 1025))["description"] == "Bad Request: message caption is too long"
    assert (await upload(sim, b""))["description"] == "Bad Request: file must be non-empty"
    assert (await upload(sim, bytes(50 * 1024 * 1024 + 1)))["error_code"] == 413
    unknown = await sim.call("sendDocument", chat_id=ADA, document="nope")
    assert unknown.description == "Bad Request: wrong file identifier/HTTP URL specified"
    assert await sim.messages() == []
