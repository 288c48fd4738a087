"""A page of HTML, taken apart."""

from __future__ import annotations

from html.parser import HTMLParser


class Html(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        if not (self.elements and self.elements[-1][0] == "textarea"):  # what is edited is as it is
            self.said.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.said).split())

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """What the page is made of, whatever it says."""
        return [(tag, tuple(sorted(attributes))) for tag, attributes in self.elements]

    def every(self, tag: str, **wanted: str) -> list[dict[str, str | None]]:
        return [has for name, has in self.elements if name == tag and wanted.items() <= has.items()]
