"""docs/rating.md says what the rating screen does."""

from pathlib import Path

from django.urls import reverse

from apps.annotation.urls import urlpatterns
from apps.studies.models import AssignmentState
from apps.studies.services.timing import ACTIVE_SECONDS_OF_A_GAP, WALL_SECONDS_OF_A_GAP

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "rating.md").read_text(encoding="utf-8")


def test_every_state_is_explained():
    assert [state for state in AssignmentState.values if f"`{state}`" not in DOCS] == []


def test_every_address_of_a_script_is_named():
    below = reverse("rating:item", args=["s", 1])
    names = [one.name for one in urlpatterns if "rate/<int:pk>/" in str(one.pattern)]
    paths = [reverse(f"rating:{name}", args=["s", 1]).removeprefix(below) for name in names]
    assert [path for path in paths if path and f"`{path}`" not in DOCS] == []
    assert len(paths) == 6


def test_the_bounds_of_time_are_those_of_the_code():
    assert f"at most {WALL_SECONDS_OF_A_GAP // 60} minutes as wall time" in DOCS.replace("\n", " ")
    assert f"{ACTIVE_SECONDS_OF_A_GAP // 60} minutes as active time" in DOCS.replace("\n", " ")
