"""`tapgate simulator`: a stand-in for Telegram with a phone page, for trying things out and for tests."""

from __future__ import annotations

from typing import Annotated

import typer

DEMO_TOKEN = "123456789:demo-token-for-the-simulator"  # noqa: S105  it opens nothing but the simulator


def simulator(
    port: Annotated[int, typer.Option(min=0, max=65535, help="On 127.0.0.1; 0 picks a free one.")] = 8081,
    token: Annotated[str, typer.Option(help="The bot token to accept.")] = DEMO_TOKEN,
    user: Annotated[
        list[str] | None, typer.Option(help="A phone's owner, as ID:NAME; 1001:You by default. May be repeated.")
    ] = None,
) -> None:
    """Run a Bot API server on this machine, with a page that looks like the phone."""
    import anyio

    from tapgate.errors import TapgateError

    try:
        from tapgate.simulator import serve
    except ImportError as error:
        raise TapgateError(
            f"the simulator is an extra, and {error.name} is not installed; install tapgate again with it: "
            "uv tool install 'tapgate[simulator]', or from a checkout '.[simulator]' (pipx and pip likewise)"
        ) from error
    users = [_parse_user(text) for text in user or ["1001:You"]]

    async def run() -> None:
        await serve(
            port=port,
            token=token,
            users=users,
            on_ready=lambda url: typer.echo(f"the simulator is ready: {url}"),
        )

    try:
        anyio.run(run)
    except OSError as error:
        raise TapgateError(
            f"cannot listen on port {port} ({error.strerror}); choose another, or 0 for a free one"
        ) from error


def _parse_user(text: str) -> tuple[int, str]:
    number, _, name = text.partition(":")
    if not number.isdigit() or int(number) == 0:
        raise typer.BadParameter(f"{text!r} is not ID:NAME, like 1001:Ada")
    return int(number), name or number
