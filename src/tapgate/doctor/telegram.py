"""Telegram: is it reached, does it take the token, do the clocks agree, does somebody else poll."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from tapgate.config import Config
from tapgate.doctor.check import Check, fault, ok, skipped, warning
from tapgate.doctor.configuration import Token
from tapgate.doctor.daemon import CONFLICT, Met
from tapgate.doctor.scene import ApiAnswer, DoctorBot, DoctorContext, UnreachableError

SKEW_S = 30.0  # more than the seconds an answer may take, and enough to make a card's times look wrong
NO_TOKEN = "0:no-token"  # noqa: S105  to see whether anybody answers at all
PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")


@dataclass(frozen=True, slots=True)
class Reached:
    """What getMe brought: an answer, or why there was none."""

    answer: ApiAnswer | None
    bot: DoctorBot | None = None  # only where the token is accepted: there is something to ask further
    problem: str = ""
    advice: str = ""


def reach(scene: DoctorContext, config: Config, token: str) -> Reached:
    bot = scene.open_bot(config, token or NO_TOKEN)
    try:
        answer = bot.call("getMe")
    except UnreachableError as error:
        return Reached(None, problem=str(error), advice=error.advice)
    return Reached(answer, bot if token and answer.result is not None else None)


def check_reachable(scene: DoctorContext, config: Config, reached: Reached) -> Check:
    name, label = "telegram.reachable", "Telegram"
    host = urlsplit(config.telegram.base_url).netloc.rpartition("@")[2]
    through = " through the proxy" if config.telegram.proxy else ""
    if reached.answer is None:
        ignored = [variable for variable in PROXIES if scene.environ.get(variable)]
        advice = reached.advice
        if ignored and not config.telegram.proxy:
            advice = f"{ignored[0]} is set and tapgate ignores it on purpose; put that address into [telegram] proxy"
        return fault(name, label, f"cannot be reached{through}: {reached.problem}", advice=advice)
    if reached.answer.value is None:
        return fault(
            name,
            label,
            f"{host} answers{through} with {reached.answer.status} and no Bot API answer",
            advice="a proxy or a login page in between? Check [telegram] base_url and proxy, and try again later",
        )
    if reached.answer.status >= 500 or reached.answer.status == 429:
        return fault(
            name,
            label,
            f"{host} answers{through}: {reached.answer.status} {reached.answer.description}",
            advice="wait a little and run this again; the daemon goes on by itself when Telegram does",
        )
    return ok(name, label, f"{host} answers{through}")


def check_token(reached: Reached, token: Token, met: Met) -> Check:
    name, label = "telegram.token", "bot token"
    if token.is_unseen and met.status is not None and met.status.get("telegram") == "ok":
        return skipped(name, label, "it is not to be seen from here; the running daemon has one that works")
    if token.problem:
        return fault(
            name,
            label,
            token.problem,
            advice="run `tapgate setup`; @BotFather gives the token (/newbot, or /token for a bot you have)",
        )
    source = token.source
    answer = reached.answer
    if answer is None or answer.value is None or answer.status >= 500 or answer.status == 429:
        return skipped(name, label, f"there is one {source}; whether it is accepted only Telegram can say")
    if answer.result is None:
        return fault(
            name,
            label,
            f"Telegram does not accept the one {source} ({answer.status} {answer.description})",
            advice="copy it again from @BotFather (/token), then run `tapgate setup`; a revoked one never comes back",
        )
    return ok(name, label, f"accepted {source}: @{answer.result.get('username', '?')}")


def check_clock(scene: DoctorContext, reached: Reached) -> Check:
    name, label = "telegram.clock", "clock"
    date = reached.answer.date if reached.answer is not None else None
    if date is None:
        return skipped(name, label, "there is no answer of Telegram's to compare it with")
    ahead_s = scene.wall() - date
    if abs(ahead_s) > SKEW_S:
        how = "sudo sntp -sS time.apple.com" if scene.platform == "darwin" else "sudo timedatectl set-ntp true"
        return warning(
            name,
            label,
            f"this machine's is {_span(abs(ahead_s))} {'ahead of' if ahead_s > 0 else 'behind'} Telegram's, "
            "so the times on cards are wrong",
            advice=f"have it set by the network: {how}",
        )
    return ok(name, label, "agrees with Telegram's")


def check_poller(scene: DoctorContext, reached: Reached, met: Met) -> Check:
    """A running daemon is asked: polling beside it would itself be the second poller."""
    name, label = "telegram.poller", "other pollers"
    advice = (
        "two programs take each other's taps away: stop the other one (tapgate on another machine? another bot "
        "program?), or make a bot of its own with @BotFather"
    )
    if met.status is not None:
        if CONFLICT in str(met.status.get("telegram")):
            return fault(
                name, label, "the daemon meets another program that polls with this token (409)", advice=advice
            )
        return ok(name, label, "the running daemon meets none")
    if met.is_running:
        return skipped(name, label, "the daemon does not answer, and polling beside it would be one too many")
    if reached.bot is None:
        return skipped(name, label, "Telegram has to take the token first")
    try:
        hook = reached.bot.call("getWebhookInfo")
        if isinstance(hook.result, dict) and hook.result.get("url"):
            return fault(
                name,
                label,
                "a webhook is set for this bot, and takes every tap",
                advice="another program uses this bot; make one of its own with @BotFather, or remove that webhook",
            )
        if met.elsewhere is not None:
            return skipped(
                name,
                label,
                f"{met.elsewhere.sentence}, and polling beside it would be one too many",
                advice="`tapgate status --config …`, with that daemon's config, says whether it meets another poller",
            )
        # No offset: nothing is confirmed, what waits stays. No allowed_updates: the last setting stays. Telegram ends
        # the older of two polls, so this one has to wait a moment: it is ended when the other program comes back.
        polled = reached.bot.call("getUpdates", wait_s=scene.listen_s, timeout=scene.listen_s, limit=1)
    except UnreachableError as error:
        return skipped(name, label, f"Telegram stopped answering: {error}")
    if polled.status == 409:
        return fault(name, label, f"another program polls with this token (409 {polled.description})", advice=advice)
    if polled.result is None:
        return skipped(name, label, f"Telegram said {polled.status} {polled.description}")
    return ok(name, label, f"none showed itself within {scene.listen_s} s; a running daemon notices one at any time")


def check_telegram(
    scene: DoctorContext, config: Config | None, *, reached: Reached | None, token: Token, met: Met
) -> Iterator[Check]:
    if config is None or reached is None:
        yield skipped("telegram.reachable", "Telegram", "the config does not say how to reach it")
        return
    yield check_reachable(scene, config, reached)
    yield check_token(reached, token, met)
    yield check_clock(scene, reached)
    yield check_poller(scene, reached, met)


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
