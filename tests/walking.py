"""Walking every address of the site: the routes as the resolver knows them, filled with objects of a small world.

What a part of an address stands for is told from the word before it (`rate/<pk>`: an assignment). A new word fails the
walks until it is added to `MEANINGS`, so that no address escapes them.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.cookies import SimpleCookie

from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from apps.accounts.models import User
from apps.accounts.services.keys import create_key
from apps.annotation.evidence import Quote
from apps.annotation.models import RatingUpload
from apps.annotation.services.recording import DrawEntry, Origin, RatingEntry, record_ratings
from apps.annotation.services.uploads import Told, receive_upload
from apps.common.models import Job
from apps.common.services.jobs import create_job
from apps.corpus.models import Conversation, ConversationUpload, Dataset, SavedMapping
from apps.frameworks.models import Dimension, Framework
from apps.llm.models import Call, CallAnswer, Endpoint, Exchange, PromptVersion, Run
from apps.llm.services.example_choice import candidates_of, pick_version_examples
from apps.llm.services.prompting import NewVersion, create_version, default_version
from apps.llm.templates import Use
from apps.reports.models import StoredReport, StoredReportFile
from apps.studies.models import (
    Assignment,
    AssignmentState,
    Exclusion,
    Invitation,
    Item,
    MemberRole,
    Membership,
    Rater,
    Study,
)
from apps.studies.services.exclusions import exclude
from apps.studies.services.invitations import create_invitations
from tests.llm.worlds import answer_all, make_model_rater, make_run
from tests.reports.stored import keep_report

# (the word before it, the name of the part) -> what it stands for.
MEANINGS = {
    ("studies", "slug"): "study",
    ("blocks", "block_slug"): "block",
    ("agreement", "block_slug"): "block",
    ("agreement", "framework_slug"): "used framework",
    ("agreement", "dimension_slug"): "dimension",
    ("agreement", "file"): "scale figure",
    ("agreement/figures", "file"): "agreement figure",
    ("agreement/raters", "name"): "rater",
    ("agreement/profiles", "name"): "rater",
    ("rate", "pk"): "assignment",
    ("items", "pk"): "item",
    ("ratings/upload", "pk"): "rating upload",
    ("reports", "pk"): "report",
    ("prompts", "pk"): "prompt version",
    ("diff", "other_pk"): "prompt version",
    ("runs", "pk"): "run",
    ("calls", "call_pk"): "call",
    ("files", "name"): "report file",
    ("people", "pk"): "membership",
    ("invitations", "pk"): "invitation",
    ("exclusions", "pk"): "exclusion",
    ("datasets", "slug"): "dataset",
    ("conversations", "pk"): "conversation",
    ("uploads", "pk"): "upload",
    ("mappings", "mapping_pk"): "mapping",
    ("jobs", "pk"): "job",
    ("keys", "pk"): "key",
    ("users", "pk"): "user",
    ("endpoints", "name"): "endpoint",
    ("frameworks", "slug"): "framework",
    ("frameworks", "version"): "version",
    ("upload/from", "slug"): "framework",
    ("upload/from", "version"): "version",
    ("invite", "token"): "token",
    ("password/reset", "uidb64"): "reset",
    ("password/reset", "token"): "reset",
}
# Frameworks, endpoints and kinds of figures are for everybody; tokens and links of mails are nobody's object.
NOBODYS = {
    "framework",
    "version",
    "endpoint",
    "token",
    "reset",
    "used framework",
    "dimension",
    "scale figure",
    "agreement figure",
}
PART = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True)
class Route:
    """A named address. `parts`: its names in order, each with what it stands for."""

    name: str
    pattern: str
    parts: tuple[tuple[str, str], ...]

    def owned(self) -> bool:
        return any(meaning not in NOBODYS for _name, meaning in self.parts)


def every_route() -> list[Route]:
    found = list(_routes(get_resolver(), "", ""))
    assert len({route.name for route in found}) == len(found)
    return found


def _routes(resolver: URLResolver, namespace: str, before: str) -> Iterator[Route]:
    for entry in resolver.url_patterns:
        pattern = before + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from _routes(entry, f"{namespace}{entry.namespace}:" if entry.namespace else namespace, pattern)
        elif isinstance(entry, URLPattern):
            assert entry.name, f"{pattern} has no name, so the walks cannot reach it"
            yield Route(namespace + entry.name, pattern, tuple(_parts(pattern)))


def _parts(pattern: str) -> Iterator[tuple[str, str]]:
    for match in PART.finditer(pattern):
        # The words before it, up to the part before or all of them.
        words = [word for word in PART.split(pattern[: match.start()])[::2] if word.strip("/")][-1].strip("/")
        known = [meaning for (word, name), meaning in MEANINGS.items() if name == match[1] and _ends(words, word)]
        assert len(known) == 1, f"{pattern}: add to MEANINGS what {match[1]} after {words!r} stands for"
        yield match[1], known[0]


def _ends(words: str, word: str) -> bool:
    return f"/{words}".endswith(f"/{word}")


@dataclass
class Objects:
    """The values that a part of an address may take, by what it stands for."""

    values: dict[str, list[object]] = field(default_factory=dict)

    def addresses(self, route: Route) -> Iterator[str]:
        names = [name for name, _meaning in route.parts]
        for chosen in itertools.product(*(self.values[meaning] for _name, meaning in route.parts)):
            yield reverse(route.name, kwargs=dict(zip(names, chosen, strict=True)))

    def sampled(self, number: int) -> "Objects":
        """The first of each kind, as many as that, the last among them."""
        kept = {meaning: [*rows[: number - 1], *rows[-1:]] for meaning, rows in self.values.items()}
        return Objects({meaning: list(dict.fromkeys(rows)) for meaning, rows in kept.items()})

    def __or__(self, other: "Objects") -> "Objects":
        return Objects(
            {
                meaning: list(dict.fromkeys([*self.values.get(meaning, []), *other.values.get(meaning, [])]))
                for meaning in self.values | other.values
            }
        )


def objects_of(study: Study, *people: User) -> Objects:
    """What belongs to a study, to its datasets, and to these people."""
    datasets = Dataset.objects.filter(blocks__study=study)

    def keys(rows) -> list[object]:
        return list(rows.order_by("pk").values_list("pk", flat=True))

    return Objects(
        {
            "study": [study.slug],
            "block": list(study.blocks.values_list("slug", flat=True)),
            "used framework": list(study.blocks.values_list("frameworks__slug", flat=True).distinct()),
            "dimension": list(
                Dimension.objects.filter(framework__blocks__study=study).values_list("slug", flat=True).distinct()
            ),
            "agreement figure": ["benchmark.svg"],
            "scale figure": ["use.svg"],
            "rater": list(study.raters.order_by("pk").values_list("name", flat=True)),
            "item": keys(Item.objects.filter(block__study=study)),
            "assignment": keys(Assignment.objects.filter(rater__study=study)),
            "rating upload": keys(RatingUpload.objects.filter(block__study=study)),
            "prompt version": keys(PromptVersion.objects.filter(prompt__study=study)),
            "run": keys(Run.objects.filter(study=study)),
            "call": keys(Call.objects.filter(run__study=study)),
            "report": keys(StoredReport.objects.filter(study=study)),
            "report file": sorted(StoredReportFile.objects.filter(report__study=study).values_list("name", flat=True)),
            "membership": keys(Membership.objects.filter(study=study)),
            "invitation": keys(Invitation.objects.filter(study=study)),
            "exclusion": keys(Exclusion.objects.filter(rater__study=study)),
            "dataset": list(datasets.values_list("slug", flat=True)),
            "conversation": keys(Conversation.objects.filter(dataset__in=datasets)),
            "upload": keys(ConversationUpload.objects.filter(owner__in=people)),
            "mapping": keys(SavedMapping.objects.filter(owner__in=people)),
            "job": keys(Job.objects.filter(owner__in=people)),
            "key": [key.pk for person in people for key in person.api_keys.all()],
            "user": [person.pk for person in people],
            "framework": list(Framework.objects.values_list("slug", flat=True)[:1]),
            "endpoint": list(Endpoint.objects.values_list("name", flat=True)[:1]),
            "version": [1],
            "token": ["no-such-token"],
            "reset": ["no-such-link"],
        }
    )


# --- A world with something to find ---------------------------------------------------------------------------------

STATES = itertools.cycle([AssignmentState.SUBMITTED, AssignmentState.IN_PROGRESS, AssignmentState.SURPLUS])


VALUES = (1, 2, 4, 5)


def furnish(study: Study, owner: User, word: str = "remark") -> None:
    """Varied ratings of every rater, with comments, evidence and draws, in several states of work; uploads, jobs,
    invitations, keys."""
    items = list(Item.objects.filter(block__study=study).order_by("pk"))
    dimensions = list(Dimension.objects.filter(framework__blocks__study=study).distinct())
    raters = list(study.raters.order_by("pk"))
    record_ratings(
        entries=[
            RatingEntry(
                item.pk,
                rater.pk,
                dimension.pk,
                value := VALUES[(place + 3 * number + 2 * (place == number) + position) % len(VALUES)],
                comment=f"{word} of {rater.name}",
                evidence=[Quote("That must be hard", 1, 0, 17), Quote(f"{word} quoted by {rater.name}")],
                draws=[DrawEntry(value, rationale=f"{word} drawn")] if rater.kind == "llm" else None,
            )
            for place, item in enumerate(items)
            for number, rater in enumerate(raters)
            for position, dimension in enumerate(dimensions)
        ],
        origin=Origin.IMPORT,
    )
    for rater in raters:
        if rater.user_id is None:
            continue
        Assignment.objects.bulk_create(
            Assignment(rater=rater, item=item, position=position, state=next(STATES), active_seconds=60)
            for position, item in enumerate(items)
        )
    exclude(rater=raters[-1], item=items[0], explanation="was asleep", by=owner)
    create_invitations(study=study, role=MemberRole.RESEARCHER, days=14, by=owner)
    file = SimpleUploadedFile("ratings.csv", f"item,scale_1\n{items[0].conversation.external_id},2\n".encode())
    receive_upload(upload=file, owner=owner, block=study.blocks.first(), told=Told(rater=raters[-1].name))
    create_job(kind="talks.import", task="tests.nothing", title="Import of talks.csv", owner=owner)
    ConversationUpload.objects.create(file_name="talks.csv", owner=owner, dataset_slug="talks")
    SavedMapping.objects.create(owner=owner, name="Talks")
    create_key(user=owner, name="notebook")
    Endpoint.objects.get_or_create(name="nowhere", base_url="http://127.0.0.1:9/v1", model="fake")
    write_prompts(study, owner, word)
    ask_a_model(study, word)
    keep_report(study, owner, title=f"{word} reported", files={f"{study.slug}.csv": b"value\n0.5\n"})


def write_prompts(study: Study, owner: User, word: str) -> None:
    """A prompt in two versions, the second with examples; nobody asks with it."""
    first = default_version(study=study, by=owner)
    frameworks = tuple(first.frameworks.all())
    new = NewVersion(
        Use(first.use),
        f"{word} to models",
        first.user,
        frameworks,
        examples=pick_version_examples(candidates_of(study=study, frameworks=frameworks), seed=1),
        note=f"{word} on a prompt",
    )
    create_version(study=study, name=first.prompt.name, new=new, by=owner)


def ask_a_model(study: Study, word: str) -> None:
    """A run that is over, of a model of its own; what it wrote is in its requests, replies, answers and ratings."""
    version = PromptVersion.objects.filter(prompt__study=study).latest("pk")
    asked = make_model_rater(version, Endpoint.objects.get(name="nowhere"), name=f"asked in {study.slug}")
    run = make_run(study, model_rater=asked)
    answer_all(run, lambda call, _dimension: VALUES[call.position % len(VALUES)], rationale=f"{word} of a model")
    wrote = {"reply": f"{word} replied", "raw": f"{word} in full", "request": f"{word} asked"}
    Exchange.objects.filter(call__run=run).update(**wrote)
    CallAnswer.objects.filter(call__run=run).update(notes=[f"{word} noted"], evidence=[{"text": f"{word} said"}])


def add_person(study: Study, user: User, name: str, role: str = MemberRole.RATER, kind: str = "expert") -> Rater:
    """A member who rates, under that pseudonym."""
    Membership.objects.update_or_create(study=study, user=user, defaults={"role": role})
    return Rater.objects.create(study=study, user=user, name=name, kind=kind)


# --- Asking without leaving a trace -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


class Walker:
    """A signed-in person whose every request starts from the same state: what it changed is taken back.

    With `keeps` it is not, so that a change can be found afterwards.
    """

    def __init__(self, client: Client, *, keeps: bool = False) -> None:
        self.client = client
        self.keeps = keeps
        self.cookies = client.cookies.output(header="")

    def ask(self, method: str, address: str, data: dict[str, object] | None = None, **headers: str) -> Answer:
        self.client.cookies = SimpleCookie(self.cookies)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        given = {"data": data or {}} if method in ("get", "post") else {}
        with transaction.atomic():
            response = getattr(self.client, method)(address, headers=named, **given)
            body = b"".join(response.streaming_content) if response.streaming else response.content
            transaction.set_rollback(not self.keeps)
        return Answer(response.status_code, dict(response.headers), body)


def dump() -> dict[str, list[dict[str, object]]]:
    """Every row of every table of ours."""
    ours = [model for model in apps.get_models() if model.__module__.startswith("apps.")]
    return {model._meta.label: list(model._base_manager.order_by("pk").values()) for model in ours}


# What differs between two answers that say the same: tokens against forgery and of new invitations, and the nonces of
# the page's policy; and the numbers of jobs, which PostgreSQL does not take back with a transaction.
VARYING = re.compile(rb"\b[A-Za-z0-9]{64}\b|nonce-[\w+/=-]+|nonce=\"[^\"]+\"|/invite/[\w-]+|/jobs/\d+/")


def said(answer: Answer) -> Answer:
    """The same less what is random."""
    headers = {name: VARYING.sub(b"*", value.encode()).decode() for name, value in answer.headers.items()}
    headers.pop("Expires", None)  # by the clock
    return Answer(answer.status, headers, VARYING.sub(b"*", answer.body))
