"""The recurring cast: the same people and the same small study in every test.

Ada is an admin, Rosa a researcher who owns the study `grief`, Emil an expert who rates in it, Otto a stranger with
a study of his own, `strangers`.
"""

import gc
import os
from pathlib import Path

import pytest
from django.test import Client

from apps.accounts.models import Role, User
from apps.corpus.models import Conversation, Dataset, SpeakerRole, Turn
from apps.frameworks.models import Dimension, Framework, ScalePoint
from apps.studies.models import (
    Block,
    BlockFramework,
    BlockGroup,
    Item,
    MemberRole,
    Membership,
    Rater,
    RaterKind,
    Study,
    StudyStatus,
)

PASSWORD = "correct horse battery"
USES_DATABASE = {"db", "transactional_db", "django_db_setup", "live_server"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The suite on PostgreSQL leaves out what is marked `once`: what asks no database, and of the tests of pages all
    but the first of each test's values, since with others a page asks the same."""
    seen = set()
    for item in items:
        asks = item.get_closest_marker("django_db") or USES_DATABASE.intersection(getattr(item, "fixturenames", ()))
        test = (item.path, getattr(item, "originalname", item.name))
        if not asks or (is_of_pages(item.path) and test in seen):
            item.add_marker(pytest.mark.once)
        seen.add(test)


def is_of_pages(path: Path) -> bool:
    return path.stem.endswith(("_pages", "_views")) or path.parent.name == "dashboard"


def pytest_collection_finish(session: pytest.Session) -> None:
    """Thousands of tests and all modules are there to stay: searching them for garbage again and again takes a tenth
    of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(scope="session")
def public_data() -> Path:
    """The folder of public data. Absent: skip at a desk, fail in CI."""
    folder = Path(os.environ.get("ACCORD_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    if not folder.is_dir():
        message = f"the public data is not at {folder}; set ACCORD_TEST_DATA"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return folder


@pytest.fixture(scope="session")
def kumar_folder(public_data: Path) -> Path:
    return public_data / "kumar2026"


def make_user(email: str, role: str, name: str = "") -> User:
    return User.objects.create_user(email, PASSWORD, role=role, name=name)


@pytest.fixture
def ada(db: None) -> User:
    return make_user("ada@example.org", Role.ADMIN, "Ada")


@pytest.fixture
def rosa(db: None) -> User:
    return make_user("rosa@example.org", Role.RESEARCHER, "Rosa")


@pytest.fixture
def emil(db: None) -> User:
    return make_user("emil@example.org", Role.ANNOTATOR, "Emil")


@pytest.fixture
def otto(db: None) -> User:
    return make_user("otto@example.org", Role.RESEARCHER, "Otto")


@pytest.fixture
def sign_in():
    """`sign_in(user)` is a client of that user; `sign_in(None)` one of nobody."""

    def signed_in(user: User | None) -> Client:
        client = Client()
        if user is not None:
            client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        return client

    return signed_in


def make_framework(slug: str = "warmth-scales", *, dimensions: int = 2, low: int = 1, high: int = 5) -> Framework:
    framework = Framework.objects.create(
        slug=slug, name=slug.replace("-", " ").title(), citation="Made up for the tests", content_hash=slug
    )
    for number in range(dimensions):
        dimension = Dimension.objects.create(
            framework=framework,
            slug=f"scale_{number + 1}",
            position=number,
            label=f"Scale {number + 1}",
            question="How much?",
            guideline="Count what is said.",
            minimum=low,
            maximum=high,
        )
        ScalePoint.objects.bulk_create(
            ScalePoint(dimension=dimension, value=value, position=position)
            for position, value in enumerate(range(low, high + 1))
        )
    return framework


def make_dataset(slug: str = "letters", *, conversations: int = 3, owner: User | None = None) -> Dataset:
    dataset = Dataset.objects.create(slug=slug, name=slug.title(), owner=owner)
    for number in range(conversations):
        conversation = Conversation.objects.create(
            dataset=dataset, external_id=f"{slug}-{number + 1:03d}", position=number, content_hash=f"{slug}{number}"
        )
        Turn.objects.create(
            conversation=conversation, index=0, role=SpeakerRole.SEEKER, text=f"I lost letter {number + 1}."
        )
        Turn.objects.create(
            conversation=conversation, index=1, role=SpeakerRole.SUPPORTER, text="That must be hard. What was in it?"
        )
    return dataset


def make_study(
    slug: str,
    *,
    owner: User,
    dataset: Dataset,
    frameworks: list[Framework],
    experts: int = 3,
) -> Study:
    """An active study of one block `main` with every conversation as an item, and experts expert1, expert2 ..."""
    study = Study.objects.create(slug=slug, title=slug.title(), status=StudyStatus.ACTIVE)
    Membership.objects.create(study=study, user=owner, role=MemberRole.OWNER)
    block = Block.objects.create(study=study, slug="main", title="Main", position=0, dataset=dataset)
    BlockGroup.objects.create(block=block, kind=RaterKind.EXPERT)
    for position, framework in enumerate(frameworks):
        BlockFramework.objects.create(block=block, framework=framework, position=position)
    for position, conversation in enumerate(dataset.conversations.all()):
        Item.objects.create(block=block, conversation=conversation, position=position)
    for number in range(experts):
        Rater.objects.create(study=study, name=f"expert{number + 1}", kind=RaterKind.EXPERT)
    return study


@pytest.fixture
def framework(db: None) -> Framework:
    return make_framework()


@pytest.fixture
def letters(rosa: User) -> Dataset:
    return make_dataset(owner=rosa)


@pytest.fixture
def grief(rosa: User, emil: User, letters: Dataset, framework: Framework) -> Study:
    """Rosa's study; Emil is its rater expert1."""
    study = make_study("grief", owner=rosa, dataset=letters, frameworks=[framework])
    Membership.objects.create(study=study, user=emil, role=MemberRole.RATER)
    Rater.objects.filter(study=study, name="expert1").update(user=emil)
    return study


@pytest.fixture
def strangers(otto: User, framework: Framework) -> Study:
    """Otto's study, of which nobody else is a member."""
    return make_study("strangers", owner=otto, dataset=make_dataset("diaries", owner=otto), frameworks=[framework])
