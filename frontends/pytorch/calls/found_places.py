"""The places where a program reads captured state, without duplicates, and the state that no place covers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch

from frontends.pytorch.calls.reads import Contents, Kept, Kind, Place

MOST_ITEMS: Final = 50_000
"""The limit of items compared on each call."""


@dataclass(frozen=True, slots=True)
class Unguarded:
    """State that a program reads and that no place covers.

    Attributes:
        text: its path.
        what: what it is.
        name: the name in the program that leads to it.
    """

    text: str
    what: str
    name: str

    def __str__(self) -> str:
        return f"{self.text}, {self.what}"

class FoundPlaces:
    """The places in order of discovery.

    Attributes:
        places: without duplicates.
        unguarded: state that no place covers.
        items: the number of items in containers that are compared on each call.
    """

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.unguarded: list[Unguarded] = []
        self.items = 0
        self._known: set[tuple[int, str, object]] = set()
        self._most, self._largest = 0, ""

    def add(
        self, text: str, container: object, key: object = None, kind: Kind = "item", owner: type | None = None
    ) -> None:
        place = Place(text, container, key, kind, owner)
        if place.identity not in self._known:
            self._known.add(place.identity)
            self.places.append(place)

    def name_of(self, tensor: torch.Tensor) -> str:
        """The program's name for a tensor, if a place has it."""
        for place in self.places:
            found = place.read() if place.kind in ("item", "cell", "slot", "contents") else None
            if isinstance(found, Kept) and found.tensor is tensor:
                return place.text
            if isinstance(found, Contents) and isinstance(found.container, dict):
                for key, value in zip(found.items, found.values):
                    if value is tensor:
                        return f"{place.text}.{key}"
        return "a tensor"

    def refuse(self, text: str, name: str, what: str) -> None:
        self.unguarded.append(Unguarded(text, what, name))

    def count(self, text: str, items: int) -> None:
        self.items += items
        if items > self._most:
            self._most, self._largest = items, text

    @property
    def is_full(self) -> bool:
        """Whether the limit of items is exceeded."""
        return self.items > MOST_ITEMS

    def refuse_too_many(self) -> None:
        """If the limit is exceeded, the largest container is unguarded."""
        if self.is_full:
            self.refuse(self._largest, "", f"and what else it reads, more than {MOST_ITEMS} items")
