"""Ada's phone, narrowed to the cards of one project: look, tap by label, reply. The project's name is on every card."""

from __future__ import annotations

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
        return [button["text"] for row in card["buttons"] for button in row]

    def tap(self, card: Message, label: str) -> str:
        """Press the button with these words, of which a long button shows only the beginning."""
        fitting = [text for text in self.labels(card) if text == label or _is_cut_from(text, label)]
        assert len(fitting) == 1, f"no such button: {label!r}; there are {self.labels(card)}"
        return self.world.tap(card, fitting[0])

    def prompt(self, card: Message) -> Message:
        """The message below this card that wants a typed reply."""

        def find() -> Message | None:
            replies = (one for one in self.world.cards() if one["force_reply"])
            return next((one for one in replies if one["reply_to"] == card["message_id"]), None)

        found: Message = self.world.until(find)
        return found

    def reply(self, text: str, to: Message) -> None:
        self.world.reply(text, to)

    def answer(self, label: str, *, containing: str = "") -> Message:
        """Wait for the card, and tap."""
        card = self.card(containing)
        self.tap(card, label)
        return card


def _is_cut_from(text: str, label: str) -> bool:
    return text.endswith("…") and label != text and label.startswith(text.removesuffix("…"))
