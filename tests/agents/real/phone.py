"""Ada's phone, narrowed to the cards of one project: look, tap by label, reply. The project's name is on every card."""

from __future__ import annotations

from tests.agents.real import labels
from tests.e2e.world import Message, World


class Phone:
    def __init__(self, world: World, project: str) -> None:
        self.world = world
        self.project = project

    def card(self, containing: str = "") -> Message:
        """The newest of this project's cards that can be tapped."""

        def find() -> Message | None:
            found = [card for card in self.cards() if card["buttons"] and containing in card["text"]]
            return found[-1] if found else None

        card: Message = self.world.until(find)
        return card

    def cards(self) -> list[Message]:
        """Every card of this project, settled ones too."""
        return [card for card in self.world.cards() if self.project in card["text"]]

    def says(self, card: Message, words: str) -> str:
        """The card's text, once these words are in it."""
        return str(self.world.says(card, words)["text"])

    def settles(self, words: str) -> str:
        """The text of the card that says so. After a kill it may be posted again, and the first one is withdrawn."""

        def find() -> str | None:
            return next((str(card["text"]) for card in self.cards() if words in card["text"]), None)

        found: str = self.world.until(find)
        return found

    def labels(self, card: Message) -> list[str]:
        """What the card offers now: it may have changed since it was looked at."""
        now = next((one for one in self.world.cards() if one["message_id"] == card["message_id"]), card)
        return [button["text"] for row in now["buttons"] for button in row]

    def offers(self, card: Message, label: str) -> str:
        """The button with these words, once the card has it. A long button shows only their ends."""

        def find() -> str | None:
            fitting = [text for text in self.labels(card) if text == label or _is_cut_from(text, label)]
            return fitting[0] if len(fitting) == 1 else None

        found: str = self.world.until(find)
        return found

    def tap(self, card: Message, label: str) -> str:
        return self.world.tap(card, self.offers(card, label))

    def prompt(self, card: Message) -> Message:
        """The message below this card that wants a typed reply."""

        def find() -> Message | None:
            replies = (one for one in self.world.cards() if one["force_reply"])
            return next((one for one in replies if one["reply_to"] == card["message_id"]), None)

        found: Message = self.world.until(find)
        return found

    def reply(self, text: str, to: Message) -> None:
        self.world.reply(text, to)

    def edit(self, card: Message, text: str) -> Message:
        """Write another text for the card; it waits for one more tap then."""
        self.tap(card, labels.EDIT)
        self.reply(text, self.prompt(card))
        self.says(card, "not allowed yet")
        return card

    def card_after(self, card: Message) -> Message:
        """The next card that can be tapped."""

        def find() -> Message | None:
            later = [one for one in self.cards() if one["buttons"] and one["message_id"] > card["message_id"]]
            return later[0] if later else None

        found: Message = self.world.until(find)
        return found

    def answer(self, label: str, *, containing: str = "") -> Message:
        """Wait for the card, and tap."""
        card = self.card(containing)
        self.tap(card, label)
        return card


def _is_cut_from(text: str, label: str) -> bool:
    head, mark, tail = text.partition("…")
    return bool(mark) and label != text and label.startswith(head) and label.endswith(tail)
