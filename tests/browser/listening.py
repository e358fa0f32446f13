"""A study on all 21 built-in scales, and how a rater opens and reads its screen."""

from django.core.management import call_command
from django.urls import reverse
from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.annotation.models import Rating
from apps.corpus.models import Dataset, SpeakerRole, Turn
from apps.frameworks.models import Framework
from apps.studies.models import Assignment, MemberRole, Membership, Rater, Study
from apps.studies.services.reservations import take_next
from tests.conftest import make_dataset, make_study

FRAMEWORKS = ("empathetic-dialogues", "epitome", "perceived-empathy", "lend-an-ear")
# A point for each of the 21 scales: five points, then 0 to 2, then seven, then five again.
ANSWERS = "321" + "012" + "765432171" + "543215"


def make_listening(rosa: User, emil: User) -> Study:
    """Rosa's active study `listening`; Emil is its rater expert1 and rates its three conversations on 21 scales."""
    call_command("load_frameworks", verbosity=0)
    frameworks = [Framework.objects.get(slug=slug) for slug in FRAMEWORKS]
    study = make_study("listening", owner=rosa, dataset=make_dataset("talks", owner=rosa), frameworks=frameworks)
    return admit(study, emil)


def admit(study: Study, person: User) -> Study:
    Membership.objects.create(study=study, user=person, role=MemberRole.RATER)
    Rater.objects.filter(study=study, name="expert1").update(user=person)
    return study


def write_turns(dataset: Dataset, *texts: str) -> None:
    """Gives every conversation of the dataset these turns, the seeker first."""
    for conversation in dataset.conversations.all():
        conversation.turns.all().delete()
        Turn.objects.bulk_create(
            Turn(
                conversation=conversation,
                index=index,
                role=SpeakerRole.SUPPORTER if index % 2 else SpeakerRole.SEEKER,
                text=text,
            )
            for index, text in enumerate(texts)
        )


def rater_of(study: Study, person: User) -> Rater:
    return Rater.objects.get(study=study, user=person)


def open_item(page: Page, study: Study, person: User) -> Assignment:
    """The rater's next item, open in the page."""
    assignment = take_next(rater=rater_of(study, person))
    assert assignment is not None
    page.goto(address_of(assignment))
    return assignment


def address_of(assignment: Assignment) -> str:
    return reverse("rating:item", args=[assignment.rater.study.slug, assignment.pk])


def expect_saved(page: Page) -> None:
    expect(page.locator("#save-state")).to_have_attribute("data-state", "saved")


def values_of(assignment: Assignment) -> list[float | None]:
    """The stored values of the rater's item, in the order of the screen."""
    rows = Rating.objects.filter(item=assignment.item, rater=assignment.rater)
    order = "dimension__framework__block_frameworks__position", "dimension__position"
    here = rows.filter(dimension__framework__block_frameworks__block=assignment.item.block_id)
    return [rating.value for rating in here.order_by(*order)]


def only_rating(assignment: Assignment) -> Rating:
    return Rating.objects.get(item=assignment.item, rater=assignment.rater)
