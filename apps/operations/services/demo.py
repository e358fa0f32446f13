"""The demo study: conversations written for Accord, and simulated ratings that say so."""

import json
import os
import secrets
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.models import Role, User
from apps.annotation.services.recording import Origin, RatingEntry, record_ratings
from apps.corpus.models import Dataset
from apps.corpus.services.freezing import freeze_datasets
from apps.corpus.services.importing import import_conversations
from apps.frameworks.models import Dimension, Framework
from apps.operations.demo.conversations import DemoConversation, demo_conversations
from apps.operations.demo.simulation import RATERS, SimulatedScale, simulate
from apps.studies.models import Block, BlockGroup, MemberRole, RaterKind, Study, StudyStatus
from apps.studies.services.design import add_block, create_study
from apps.studies.services.people import enrol, join_as_rater
from apps.studies.services.raters import NewRater, ensure_raters
from apps.studies.services.status import activate

DEMO_SLUG = "demo"
DEMO_SEED = 2026
FRAMEWORKS = ("empathetic-dialogues", "epitome", "perceived-empathy", "lend-an-ear")
INSTRUCTIONS = """\
Read each conversation to its end before you rate. The person who brings the trouble is the **seeker**, the one who \
answers is the **supporter**.

- Rate what the supporter does, not what you would have done.
- Judge each scale for itself: a warm answer may still explore nothing.
- Use the whole scale. The middle is for the middle, not for doubt; where the text does not say, choose *cannot tell*.
- Where a passage decided it, mark it as evidence.

All 21 scales of a conversation take about five minutes.
"""
CONTENT_WARNING = (
    "The conversations are about losing work, people and animals, about illness, separation and loneliness. Nobody in "
    "them is in danger. Skip any that you would rather not read."
)
SUPPORT_CONTACT = (
    "The people and their troubles are invented. If something here stays with you all the same, pause and talk to "
    "somebody you trust. In a study of your own, this is the place for the name and number of a person to turn to."
)
LOGINS = (
    ("admin@demo.example", Role.ADMIN, "Demo admin"),
    ("researcher@demo.example", Role.RESEARCHER, "Demo researcher"),
    ("expert@demo.example", Role.ANNOTATOR, "Demo expert"),
)


def logins_file() -> Path:
    return Path(settings.VAR_DIR) / "demo-logins.json"


@transaction.atomic
def open_demo_logins() -> dict[str, User]:
    """The demo's people by role, with random passwords kept in a file that only its owner may read.

    Passwords stay as they are while that file is there; without it, new ones are drawn. Logins that a start closed are
    opened again; those that an admin deactivated stay so.
    """
    known = {user.email: user for user in _demo_users()}
    draw = not logins_file().exists() or len(known) < len(LOGINS)
    people, drawn = {}, []
    for email, role, name in LOGINS:
        user = known.get(email) or User(email=email, role=role, name=name)
        user.is_active = user.deactivated_at is None
        if draw:
            password = secrets.token_urlsafe(12)
            user.set_password(password)
            drawn.append({"role": role.value, "email": email, "password": password})
        user.save()
        people[role.value] = user
    if drawn:
        _write_for_owner_only(logins_file(), json.dumps(drawn, indent=1))
    return people


def close_demo_logins() -> int:
    """Shut the demo's people out, where others than this machine's own reach the site. Returns how many."""
    # No date of deactivation: that is how a start knows whom it may let in again.
    return _demo_users().filter(is_active=True).update(is_active=False)


def _demo_users() -> QuerySet[User]:
    people: QuerySet[User] = User.objects.filter(email__in=[email for email, *_ in LOGINS])
    return people


@transaction.atomic
def seed_demo(*, people: dict[str, User]) -> Study | None:
    """Make the demo study, unless it is there. Returns it if it was made."""
    if Study.objects.filter(slug=DEMO_SLUG).exists():
        return None
    conversations = list(demo_conversations())
    dataset = _load_dataset(conversations, owner=people[Role.RESEARCHER])
    study = create_study(
        slug=DEMO_SLUG,
        title="Demo: how well did they listen?",
        owner=people[Role.RESEARCHER],
        seed=DEMO_SEED,
        description="Conversations written for Accord. The ratings that came with it are simulated: they are nobody's "
        "judgement. Those that the demo expert gives here are real.",
        instructions=INSTRUCTIONS,
        content_warning=CONTENT_WARNING,
        support_contact=SUPPORT_CONTACT,
    )
    block = add_block(
        study=study,
        slug="main",
        title="Everyday support",
        dataset=dataset,
        frameworks=[Framework.objects.latest_versions().get(slug=slug) for slug in FRAMEWORKS],
        groups={RaterKind.EXPERT: None},
    )
    _rate(study, block, {entry.record.external_id: entry.quality for entry in conversations})
    study = activate(study=study, by=people[Role.RESEARCHER])
    enrol(study=study, user=people[Role.ANNOTATOR], role=MemberRole.RATER, kind=RaterKind.EXPERT, by=None)
    return study


@transaction.atomic
def open_demo_to_expert(*, expert: User) -> bool:
    """Let the demo expert rate in a demo of a version in which nobody could rate yet. Returns whether that was done.

    Whoever closed that study, changed who rates in it, or took the expert out, is not overruled.
    """
    study = Study.objects.filter(slug=DEMO_SLUG, status=StudyStatus.ACTIVE).first()
    if study is None or study.raters.filter(user=expert).exists() or BlockGroup.objects.filter(block__study=study):
        return False
    if not study.memberships.filter(user=expert, role=MemberRole.RATER).exists():
        return False
    blocks = list(study.blocks.all())
    BlockGroup.objects.bulk_create(BlockGroup(block=block, kind=RaterKind.EXPERT) for block in blocks)
    freeze_datasets(dataset_ids={block.dataset_id for block in blocks})
    join_as_rater(study=study, user=expert, kind=RaterKind.EXPERT)
    study.instructions = INSTRUCTIONS
    study.content_warning = study.content_warning or CONTENT_WARNING
    study.support_contact = SUPPORT_CONTACT
    study.save(update_fields=["instructions", "content_warning", "support_contact", "updated_at"])
    return True


def _load_dataset(conversations: list[DemoConversation], *, owner: User) -> Dataset:
    dataset = Dataset.objects.create(
        slug="demo-conversations",
        name="Demo conversations",
        description="Short supportive conversations on everyday troubles, good and poor, invented for Accord.",
        source="Written for Accord",
        licence="GPL-3.0-or-later",
        owner=owner,
    )
    import_conversations(dataset=dataset, found=(entry.record for entry in conversations), actor=owner)
    return dataset


def _rate(study: Study, block: Block, qualities: dict[str, str]) -> None:
    raters = ensure_raters(
        study=study,
        raters=[
            NewRater(kind=rater.kind, name=rater.name, is_simulated=True, source="Simulated for the demo")
            for rater in RATERS
        ],
    )
    items = dict(block.items.values_list("conversation__external_id", "pk"))
    dimensions = {
        f"{dimension.framework.slug}/{dimension.slug}": dimension
        for dimension in Dimension.objects.filter(framework__blocks=block)
        .select_related("framework")
        .prefetch_related("points")
    }
    scales = [SimulatedScale(key, dimension.scale_points, dimension.polarity) for key, dimension in dimensions.items()]
    record_ratings(
        entries=(
            RatingEntry(items[conversation], raters[rater].pk, dimensions[key].pk, value)
            for conversation, rater, key, value in simulate(qualities, scales, RATERS, study.seed)
        ),
        origin=Origin.DEMO,
    )


def _write_for_owner_only(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
        handle.write(text)
