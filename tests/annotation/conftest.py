"""What the tests of the rating screen share: Emil at work on an item of `grief`."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from apps.annotation.models import Rating
from apps.studies.models import Assignment
from apps.studies.services.reservations import take_next


class Desk:
    """A rater in front of one item: asks and sends as the screen does."""

    def __init__(self, client: Client, assignment: Assignment, dimensions: list[Any]) -> None:
        self.client = client
        self.assignment = assignment
        self.slug = assignment.rater.study.slug
        self.dimensions = dimensions

    def url(self, name: str) -> str:
        return reverse(f"rating:{name}", args=[self.slug, self.assignment.pk])

    def get(self) -> Any:
        return self.client.get(self.url("item"))

    def post(self, name: str, data: dict[str, Any] | None = None, **headers: str) -> Any:
        return self.client.post(self.url(name), data or {}, headers=headers)

    def save(self, value: object, *, scale: int = 0, based_on: int = 0, **fields: str) -> Any:
        """One scale, as the script sends it; further fields by their name: comment, evidence."""
        pk = self.dimensions[scale].pk
        data = {"dimension": pk, f"value-{pk}": value, f"based-on-{pk}": based_on}
        return self.post("save", data | {f"{name}-{pk}": text for name, text in fields.items()})

    def form(self, action: str, *values: object, **more: object) -> Any:
        """The whole form without a script, with a value for each scale in turn."""
        data: dict[str, object] = {"action": action}
        for dimension, value in zip(self.dimensions, values, strict=False):
            data[f"value-{dimension.pk}"] = value
            data[f"based-on-{dimension.pk}"] = self.n_events(dimension)
        return self.post("item", data | more)

    def n_events(self, dimension: Any) -> int:
        rating = self.ratings().filter(dimension=dimension).first()
        return 0 if rating is None else rating.events.count()

    def ratings(self) -> Any:
        return Rating.objects.filter(item=self.assignment.item_id, rater=self.assignment.rater_id)

    def values(self) -> list[float | None]:
        return list(self.ratings().order_by("dimension__position").values_list("value", flat=True))

    @property
    def state(self) -> str:
        return Assignment.objects.get(pk=self.assignment.pk).state


@pytest.fixture
def seat(sign_in, framework):
    """`seat(user, study)` takes the user's next item and sits down in front of it."""

    def seated(user: Any, study: Any) -> Desk:
        assignment = take_next(rater=study.raters.get(user=user))
        assert assignment is not None
        return Desk(sign_in(user), assignment, list(framework.dimensions.order_by("position")))

    return seated


@pytest.fixture
def desk(seat, emil, grief):
    return seat(emil, grief)
