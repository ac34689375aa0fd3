"""A Write of 16 MiB on its whole way, card and file: nobody waits for it, and it can be allowed once it was sent."""

from __future__ import annotations

from tests.blocking import watched
from tests.builders import make_request
from tests.e2e.office import Message, Office, new_office, opened, running

CONTENT = "x = 1  # an ordinary line of a very long file\n" * ((16 << 20) // 46)


async def test_sixteen_mebibytes_hold_up_nobody_and_come_as_a_file() -> None:
    fields = {"file_path": "/home/dev/shop/a.py", "content": CONTENT}
    request = make_request(tool="Write", tool_input=fields, suggestions=())
    with running() as url:
        async with new_office(url) as office, opened(office), watched() as pulse:
            line = await office.ask(request)
            card = await office.open_card()
            assert "characters are not shown" in card["text"]
            assert "Allow" not in str(card["buttons"])
            await office.tap(card, "Show all of it")
            await office.until(lambda: sent_file(office))
            await office.tap(await office.until(lambda: allowable(office)))
            assert b'"behavior":"allow"' in (await office.answer(line)).body
    assert pulse.share < 0.5, pulse


async def sent_file(office: Office) -> list[Message]:
    return await office.calls("sendDocument")


async def allowable(office: Office) -> Message | None:
    return next((card for card in await office.tappable() if "Allow" in str(card["buttons"])), None)
