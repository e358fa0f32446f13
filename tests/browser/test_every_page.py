"""Every page of the site, on a desk and on a phone, by day and by night: accessible, and never wider than the screen.

`test_no_page_is_forgotten` compares the list below with the addresses of the site, so a new screen must join it.
"""

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from playwright.sync_api import Page

from apps.accounts.services.keys import create_key
from apps.annotation.evidence import Quote
from apps.annotation.parsing.reading import Told
from apps.annotation.services.recording import Origin, RatingEntry, record_ratings
from apps.annotation.services.uploads import receive_upload
from apps.common.models import Job, JobState
from apps.common.services.jobs import create_job, run_job
from apps.corpus.parsing.mapping import ColumnMapping
from apps.corpus.services.freezing import freeze_datasets
from apps.corpus.services.saved_mappings import keep_mapping
from apps.corpus.services.uploads import receive_upload as receive_conversations
from apps.frameworks.models import ScalePoint
from apps.llm.models import RunState
from apps.llm.services.baselines import compute_baseline, request_baseline
from apps.llm.services.bias import check_bias, request_checks
from apps.reports.plans import ReportPlan
from apps.reports.services.requesting import request_report
from apps.studies.models import Assignment, AssignmentState, ExclusionReason, MemberRole, Rater, RaterKind
from apps.studies.services.design import add_block, create_study
from apps.studies.services.exclusions import exclude
from apps.studies.services.invitations import create_invitations, revoke_invitation
from apps.studies.services.reservations import skip, take_next
from tests.browser.conftest import DESKTOP, PHONE, accessibility_faults, scrolls_sideways
from tests.llm.model_pages import pages_of_models
from tests.llm.prompt_pages import pages_of_prompts
from tests.llm.tried import make_test
from tests.llm.worlds import answer_all, make_endpoint, make_run
from tests.reports.stored import keep_report

SIZES = {"desk": DESKTOP, "phone": PHONE}
SCHEMES = {"desk": "light", "phone": "dark"}


# Addresses that are no pages: acts (POST only), files, and what programs read.
NO_PAGES = {
    "accounts:user-password-link",
    "agreement:compute",
    "agreement:csv",
    "agreement:figure",
    "agreement:rater-png",
    "agreement:rater-svg",
    "agreement:scale-figure",
    "dashboard:my-data-csv",
    "dashboard:my-data-json",
    "studies:block-move",
    "studies:exclusion-revert",
    "studies:member-add",
    "studies:member-role",
    "studies:member-remove",
    "studies:invitation-revoke",
    "studies:invitation-renew",
    "accounts:sign-out",
    "accounts:key-revoke",
    "accounts:user-role",
    "accounts:user-deactivate",
    "accounts:user-reactivate",
    "common:healthz",
    "corpus:mapping-delete",
    "corpus:mapping-keep",
    "corpus:mapping-use",
    "corpus:upload-discard",
    "corpus:upload-import",
    "corpus:upload-reading",
    "corpus:upload-replace",
    "common:job-cancel",
    "endpoints:reply",
    "endpoints:retire",
    "endpoints:return",
    "endpoints:test",
    "common:readyz",
    "frameworks:yaml",
    "llm:call-texts",
    "llm:calls-file",
    "llm:prompt-preview",
    "llm:run-budget",
    "llm:run-cancel",
    "llm:run-pause",
    "llm:run-resume",
    "llm:run-retry",
    "llm:run-reversed",
    "llm:run-start",
    "llm:seal",
    "rating:flag",
    "rating:next",
    "rating:save",
    "rating:skip",
    "rating:submit",
    "rating:time",
    "rating:upload-start",
    "reports:cancel",
    "reports:export-csv",
    "reports:export-jsonl",
    "reports:export-parquet",
    "reports:file",
    "schema",
}


def names(resolver: URLResolver, namespace: str = "") -> Iterator[str]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            inner = f"{namespace}{entry.namespace}:" if entry.namespace else namespace
            yield from names(entry, inner)
        elif isinstance(entry, URLPattern) and entry.name:
            yield namespace + entry.name


def pages_of_strangers(rosa) -> dict[str, str]:
    Client().post(reverse("accounts:password-reset"), {"email": rosa.email})
    link = next(word for word in str(mail.outbox[0].body).split() if word.startswith(settings.BASE_URL))
    return {
        "dashboard:home": reverse("dashboard:home"),
        "accounts:sign-in": reverse("accounts:sign-in"),
        "accounts:password-reset": reverse("accounts:password-reset"),
        "accounts:password-reset-done": reverse("accounts:password-reset-done"),
        "accounts:password-reset-confirm": link.removeprefix(settings.BASE_URL),
        "accounts:password-reset-complete": reverse("accounts:password-reset-complete"),
    }


def pages_of_people(rosa, study) -> dict[str, str]:
    block = study.blocks.get()
    framework = block.frameworks.get()
    conversation = block.dataset.conversations.first()
    return {
        "dashboard:home": reverse("dashboard:home"),
        "accounts:profile": reverse("accounts:profile"),
        "accounts:password-change": reverse("accounts:password-change"),
        "accounts:keys": reverse("accounts:keys"),
        "accounts:users": reverse("accounts:users"),
        "accounts:user": reverse("accounts:user", args=[rosa.pk]),
        "accounts:user-new": reverse("accounts:user-new"),
        "frameworks:list": reverse("frameworks:list"),
        "frameworks:detail": reverse("frameworks:detail", args=[framework.slug]),
        "frameworks:version": reverse("frameworks:version", args=[framework.slug, framework.version]),
        "corpus:datasets": reverse("corpus:datasets"),
        "corpus:dataset": reverse("corpus:dataset", args=[block.dataset.slug]),
        "corpus:conversation": reverse("corpus:conversation", args=[block.dataset.slug, conversation.pk]),
        "studies:list": reverse("studies:list"),
        "studies:overview": reverse("studies:overview", args=[study.slug]),
        "studies:exclusions": reverse("studies:exclusions", args=[study.slug]),
        "api-docs": reverse("api-docs"),
    }


def pages_of_taking_part(study) -> dict[str, str]:
    """For an owner of the study; the pages behind links have a test of their own in test_inviting.py."""
    owner = study.memberships.filter(role=MemberRole.OWNER).get().user
    [new, _revoked] = create_invitations(study=study, role=MemberRole.RESEARCHER, number=2, days=14, by=owner)
    revoke_invitation(invitation=_revoked.invitation, by=owner)
    item = study.blocks.get().items.first()
    model = Rater.objects.create(study=study, name="asked-model v2 x5", kind=RaterKind.LLM)
    exclude(rater=model, item=item, reason=ExclusionReason.LEAKAGE, explanation="warm v2 shows it", by=owner)
    exclude(rater=study.raters.get(name="expert2"), explanation="Handed in every item within a minute.", by=None)
    return {
        "studies:exclusions, with some": reverse("studies:exclusions", args=[study.slug]),
        "dashboard:my-data": reverse("dashboard:my-data"),
        "dashboard:my-data-history": reverse("dashboard:my-data-history"),
        "studies:people": reverse("studies:people", args=[study.slug]),
        "studies:member": reverse("studies:member", args=[study.slug, study.memberships.first().pk]),
        "studies:invitations": reverse("studies:invitations", args=[study.slug]),
        "studies:invite": reverse("studies:invite", args=[study.slug]),
        "studies:rating-join": reverse("studies:rating-join", args=[study.slug]),
        "invitations:link": reverse("invitations:link", args=[new.token]),
    }


def pages_of_jobs(owner) -> dict[str, str]:
    """A job that waits; the other states have their test in test_jobs.py."""
    job = create_job(kind="talks.import", task="tests.nothing", title="Import of talks.csv", owner=owner)
    return {"common:jobs": reverse("common:jobs"), "common:job": reverse("common:job", args=[job.pk])}


def pages_of_endpoints(owner) -> dict[str, str]:
    """One that answered as asked, after it had not; one whose test waits; one whose key is missing and refused."""
    answering, waiting = make_endpoint("answering"), make_endpoint("waiting")
    reply = '{"rationale": "It asks.", "evidence": ["What were Sundays like", "never said"], "score": "4"}'
    make_test(answering, owner, reply="I would say 4.", problem="The reply holds no JSON object.")
    make_test(answering, owner, reply=reply, score="4")
    make_test(waiting, owner, state=JobState.QUEUED)
    keyless = make_endpoint("keyless", url="https://api.example.org/v1", key_variable="ACORN_KEY", provider="google")
    make_test(keyless, owner, state=JobState.FAILED, problem="The worker has no usable key.\n\nIt holds none.")
    return {
        "endpoints:list": reverse("endpoints:list"),
        "endpoints:endpoint": reverse("endpoints:endpoint", args=[answering.name]),
        "endpoints:endpoint, waiting": reverse("endpoints:endpoint", args=[waiting.name]),
        "endpoints:endpoint, failed": reverse("endpoints:endpoint", args=[keyless.name]),
        "endpoints:new": reverse("endpoints:new"),
        "endpoints:edit": reverse("endpoints:edit", args=[answering.name]),
    }


def pages_of_rating_uploads(owner, study) -> dict[str, str]:
    block = study.blocks.first()
    file = SimpleUploadedFile("ratings.csv", b"item,scale_1,scale_2\nletters-001,3,4\nletters-002,9,\n")
    upload = receive_upload(upload=file, owner=owner, block=block, told=Told(rater="expert1"))
    return {
        "rating:upload": reverse("rating:upload", args=[study.slug]),
        "rating:upload-check": reverse("rating:upload-check", args=[study.slug, upload.pk]),
    }


def pages_of_uploads(owner, dataset) -> dict[str, str]:
    """A file with a kept mapping, many columns, problems, and everything else the check page can show."""
    wide = ",".join(f"column_{number}" for number in range(20))
    head = f"id,speaker,text,{wide}\n".encode()
    rows = [b"c%d,%s,one_comma_ two,%s\n" % (n, b"Anna" if n % 2 else b"user", b"," * 19) for n in range(6)]
    file = SimpleUploadedFile("talks.csv", head + b"".join(rows) + b"c9,user,," + b"," * 19 + b"\n")
    upload = receive_conversations(upload=file, owner=owner, dataset_slug="talks", dataset_name="Talks")
    keep_mapping(owner=owner, name="Survey", mapping=ColumnMapping(columns={"id": "id", "title": "head"}))
    return {
        "corpus:upload": reverse("corpus:upload"),
        "corpus:dataset-upload": reverse("corpus:dataset-upload", args=[dataset.slug]),
        "corpus:uploads": reverse("corpus:uploads"),
        "corpus:upload-check": reverse("corpus:upload-check", args=[upload.pk]),
    }


def pages_of_writing(dataset, framework) -> dict[str, str]:
    of_dataset = [f"corpus:{act}" for act in ("dataset-edit", "dataset-copy", "dataset-delete", "conversation-new")]
    of_conversation = [f"corpus:{act}" for act in ("conversation-edit", "conversation-delete")]
    where = [dataset.slug, dataset.conversations.first().pk]
    return (
        {"corpus:dataset-new": reverse("corpus:dataset-new"), "frameworks:upload": reverse("frameworks:upload")}
        | {"frameworks:start-from": reverse("frameworks:start-from", args=[framework.slug, framework.version])}
        | {name: reverse(name, args=[dataset.slug]) for name in of_dataset}
        | {name: reverse(name, args=where) for name in of_conversation}
    )


def pages_of_setup(owner, study) -> dict[str, str]:
    """Of an active study, somebody at work in it, and of a draft: two blocks, one by choice, on two frameworks."""
    skip(assignment=take_next(rater=study.raters.get(name="expert1")), reason="The text is cut off.")
    take_next(rater=study.raters.get(name="expert1"))
    block = study.blocks.get()
    block.dataset.conversations.update(metadata={"topic": "grief"}, factors={"model": "a"}, language="en")
    draft = create_study(slug="plan", title="Plan", owner=owner, instructions="# Look\n\n- at *all* of it")
    for slug, groups in (("first", {"expert": None}), ("second", {"crowd": 3, "expert": 1})):
        add_block(
            study=draft,
            slug=slug,
            title=slug.title(),
            dataset=block.dataset,
            frameworks=list(block.frameworks.all()),
            groups=groups,
            metadata_filter={"meta.topic": ["grief"]},
            sample_size=2,
        )
    of_drafts = ("overview", "settings", "activate", "delete", "block-new")
    of_blocks = ("block", "block-remove")
    of_active = ("raters", "skipped", "copy", "draft", "close", "reopen", "discussion")
    return {
        "studies:new": reverse("studies:new"),
        **{f"studies:{name}": reverse(f"studies:{name}", args=["plan"]) for name in of_drafts},
        **{f"studies:{name}": reverse(f"studies:{name}", args=["plan", "second"]) for name in of_blocks},
        **{f"studies:{name}": reverse(f"studies:{name}", args=[study.slug]) for name in of_active},
        "studies:block-new, the dataset chosen": f"{reverse('studies:block-new', args=['plan'])}?dataset=letters",
        "studies:block, begun": reverse("studies:block", args=[study.slug, block.slug]),
        "studies:settings, active": reverse("studies:settings", args=[study.slug]),
    }


def pages_of_rating(study) -> dict[str, str]:
    """Of the rater expert1, who has skipped an item and is at work on the next."""
    study.instructions = "# What to look for\n\nRead *all* of it first."
    study.content_warning, study.support_contact = "People tell of loss.", "helpline@example.org"
    study.save()
    rater = study.raters.get(name="expert1")
    first = take_next(rater=rater)
    skip(assignment=first, reason="broken")
    return {
        "rating:start": reverse("rating:start", args=[study.slug]),
        "rating:item": reverse("rating:item", args=[study.slug, take_next(rater=rater).pk]),
        "rating:done": reverse("rating:done", args=[study.slug]),
    }


def pages_of_discussion(study) -> dict[str, str]:
    """An item with a column for each expert, and a crowd that is summed up; expert1 has handed it in."""
    study.discussion_open = True
    study.save()
    item, rater = study.blocks.get().items.first(), study.raters.get(name="expert1")
    crowd = [Rater(study=study, name=f"crowd{number}", kind=RaterKind.CROWD) for number in range(30)]
    Rater.objects.bulk_create(crowd)
    ScalePoint.objects.filter(value=3).update(label="neither more nor less than somebody would expect")
    record_ratings(
        entries=[
            RatingEntry(item.pk, one.pk, scale.pk, 3, comment="It helped.", evidence=[Quote("I lost letter 1")])
            for one in study.raters.all()
            for scale in study.blocks.get().frameworks.get().dimensions.all()
        ],
        origin=Origin.IMPORT,
    )
    Assignment.objects.create(rater=rater, item=item, position=0, state=AssignmentState.SUBMITTED)
    exclude(rater=crowd[0], by=None)
    return {
        "rating:items": reverse("rating:items", args=[study.slug]),
        "rating:item-ratings": reverse("rating:item-ratings", args=[study.slug, item.pk]),
        "rating:item-ratings, unfolded": f"{reverse('rating:item-ratings', args=[study.slug, item.pk])}?page=2",
    }


def pages_of_reports(owner, study) -> dict[str, str]:
    """A report that is built, and one that waits; of ratings with a figure by which exports are checked."""
    rate_a_little(study)
    built = keep_report(study, owner)
    waiting = request_report(study=study, title="Another " * 20, plan=ReportPlan(), by=owner)
    failed = request_report(study=study, title="Third", plan=ReportPlan(), by=owner)
    Job.objects.filter(pk=failed.job_id).update(state=JobState.FAILED, message="Nothing is rated yet.")
    return {
        "reports:list": reverse("reports:list", args=[study.slug]),
        "reports:new": reverse("reports:new", args=[study.slug]),
        "reports:new, with choices": f"{reverse('reports:new', args=[study.slug])}?block=main&excluded=1&rater=nobody",
        "reports:exports": reverse("reports:exports", args=[study.slug]),
        "reports:report": reverse("reports:report", args=[study.slug, built.pk]),
        "reports:report, waiting": reverse("reports:report", args=[study.slug, waiting.pk]),
        "reports:report, failed": reverse("reports:report", args=[study.slug, failed.pk]),
        "reports:delete": reverse("reports:delete", args=[study.slug, built.pk]),
    }


def rate_a_little(study, shift: int = 0) -> None:
    """By everybody whom Accord does not compute itself."""
    raters = study.raters.exclude(pk__in=study.raters.computed_here()).order_by("pk")
    record_ratings(
        entries=[
            RatingEntry(item.pk, rater.pk, scale.pk, (place + number * (place % 2) + shift) % 5 + 1)
            for place, item in enumerate(study.blocks.get().items.order_by("position"))
            for number, rater in enumerate(raters)
            for scale in study.blocks.get().frameworks.get().dimensions.all()
        ],
        origin=Origin.IMPORT,
    )


def pages_of_baselines(owner, study) -> dict[str, str]:
    """One that is computed, of ratings that have changed since, and one that waits."""
    rate_a_little(study)
    constant = request_baseline(study=study, rule="constant", by=owner)
    run_job(pk=constant.job.pk, work=compute_baseline)
    rate_a_little(study, shift=1)
    request_baseline(study=study, rule="lexical", by=owner)
    return {"llm:baselines": reverse("llm:baselines", args=[study.slug])}


def pages_of_checks(owner, study) -> dict[str, str]:
    """Of a run that was asked again with reversed points: results that came before an answer, and others that wait."""
    rate_a_little(study)
    paid = make_endpoint("paid", price_input=10, price_output=100)
    first = make_run(study, paid, name="checked", samples=2)
    waiting = make_run(study, paid, name="waits")
    asked = make_run(study, paid, name="asked")
    for run in (first, waiting, asked):
        answer_all(run, lambda call, dimension: float(1 + (call.item_id + call.sample * call.position) % 5), rate=False)
    reversed_run = make_run(study, model_rater=first.model_rater, checks=first)
    answer_all(reversed_run, lambda call, dimension: float(1 + call.item_id % 4))
    run_job(pk=request_checks(run=first, by=owner).job.pk, work=check_bias)
    rate_a_little(study, shift=1)
    request_checks(run=waiting, by=owner)
    make_run(study, model_rater=asked.model_rater, checks=asked, state=RunState.RUNNING, created_by=owner)
    return {
        "llm:run-checks, asked again": reverse("llm:run-checks", args=[study.slug, asked.pk]),
        "llm:run-checks": reverse("llm:run-checks", args=[study.slug, first.pk]),
        "llm:run-checks, waiting": reverse("llm:run-checks", args=[study.slug, waiting.pk]),
    }


def pages_of_agreement(study) -> dict[str, str]:
    """Of experts who mostly agree, a model, a crowd's mean with values between points, and a scale that nobody used."""
    study.raters.create(name="gpt", kind=RaterKind.LLM)
    study.raters.create(name="crowd", kind=RaterKind.CROWD, is_aggregate=True)
    given = {"expert1": [1, 3, 5], "expert2": [1, 3, 4], "expert3": [2, 3, 5], "gpt": [3, 2, 4], "crowd": [1.5, 3, 3.3]}
    scale = study.blocks.get().frameworks.get().dimensions.first()
    record_ratings(
        entries=[
            RatingEntry(item.pk, study.raters.get(name=name).pk, scale.pk, value)
            for name, values in given.items()
            for item, value in zip(study.blocks.get().items.order_by("position"), values, strict=True)
        ],
        origin=Origin.IMPORT,
    )
    page = reverse("agreement:overview", args=[study.slug])
    scale_address = reverse("agreement:scale", args=[study.slug, "main", "warmth-scales", scale.slug])
    return {
        "agreement:overview": page,
        "agreement:overview, all pairs": f"{page}?pairs=all",
        "agreement:overview, filtered": f"{page}?group=llms&rater=gpt&repeats=1&convention=observed&statistic=bias",
        "agreement:overview, nothing fits": f"{page}?group=crowd&rater=gpt&pairs=all",
        "agreement:overview, misspelt": f"{page}?block=mian",
        "agreement:scale": scale_address,
        "agreement:raters": reverse("agreement:raters", args=[study.slug]),
        "agreement:rater": reverse("agreement:rater", args=[study.slug, "gpt"]),
    }


def faults_of(page: Page, pages: dict[str, str]) -> list[str]:
    """What is wrong with the pages, by day and by night, on a desk and on a phone."""
    faults = []
    page.emulate_media(reduced_motion="reduce")  # colours must not be measured on their way
    for name, address in pages.items():
        page.set_viewport_size(DESKTOP)
        response = page.goto(address)
        assert response is not None
        if response.status != 200:
            faults.append(f"{name}: answered {response.status}")
        if name == "api-docs":  # the one page that asks for more once it is there
            page.wait_for_load_state("networkidle")
        for size, viewport in SIZES.items():
            page.set_viewport_size(viewport)
            if scrolls_sideways(page):
                faults.append(f"{name}, {size}: the page scrolls sideways")
            # Each size and each scheme once: looking takes a second, and there are many pages.
            scheme = SCHEMES[size]
            page.emulate_media(color_scheme=scheme)
            faults += [f"{name}, {size}, {scheme}: {fault}" for fault in accessibility_faults(page)]
    return faults


def test_every_page_of_strangers_is_accessible_and_fits(page, rosa):
    assert faults_of(page, pages_of_strangers(rosa)) == []


def test_every_page_of_people_is_accessible_and_fits(open_page, ada, rosa, grief):
    create_key(user=ada, name="notebook")
    assert faults_of(open_page(ada), pages_of_people(rosa, grief)) == []


def test_every_page_of_raters_is_accessible_and_fits(open_page, emil, grief):
    names_of_pages = {
        "dashboard:home": reverse("dashboard:home"),
        "studies:overview": "/studies/grief/",
        "studies:rating-leave": reverse("studies:rating-leave", args=["grief"]),
    }
    assert faults_of(open_page(emil), names_of_pages) == []


def test_every_page_of_taking_part_is_accessible_and_fits(open_page, rosa, grief):
    assert faults_of(open_page(rosa), pages_of_taking_part(grief)) == []


def test_every_page_of_rating_is_accessible_and_fits(open_page, emil, rosa, grief):
    assert faults_of(open_page(emil), pages_of_rating(grief)) == []
    assert faults_of(open_page(rosa), {"rating:preview": reverse("rating:preview", args=[grief.slug])}) == []


def test_every_page_of_discussion_is_accessible_and_fits(open_page, emil, rosa, grief):
    pages = pages_of_discussion(grief)
    assert faults_of(open_page(rosa), pages) == []
    seen_by_raters = {name: pages[name] for name in ("rating:items", "rating:item-ratings")}
    seen_by_raters["rating:start"] = reverse("rating:start", args=[grief.slug])
    assert faults_of(open_page(emil), seen_by_raters) == []


def test_every_page_of_agreement_is_accessible_and_fits(open_page, rosa, grief, watch):
    page, address = open_page(rosa), reverse("agreement:overview", args=[grief.slug])
    assert faults_of(page, {"agreement:overview, nothing rated": address}) == []
    assert faults_of(page, pages_of_agreement(grief)) == []
    grief.raters.filter(name="expert2").update(user=rosa)
    watch.expected.append("403 (Forbidden)")
    page.goto(address)
    assert "Agreement is hidden" in page.title()
    assert accessibility_faults(page) == []


def test_every_page_of_setting_up_a_study_is_accessible_and_fits(open_page, rosa, grief):
    assert faults_of(open_page(rosa), pages_of_setup(rosa, grief)) == []


def test_every_page_of_jobs_is_accessible_and_fits(open_page, rosa):
    assert faults_of(open_page(rosa), pages_of_jobs(rosa)) == []


def test_every_page_of_endpoints_is_accessible_and_fits(open_page, ada):
    page = open_page(ada)
    assert faults_of(page, {"endpoints:list, none": reverse("endpoints:list")}) == []
    assert faults_of(page, pages_of_endpoints(ada)) == []


def test_the_page_of_baselines_is_accessible_and_fits(open_page, rosa, grief):
    page, address = open_page(rosa), reverse("llm:baselines", args=[grief.slug])
    assert faults_of(page, {"llm:baselines, none": address}) == []
    assert faults_of(page, pages_of_baselines(rosa, grief)) == []


def test_every_page_of_models_is_accessible_and_fits(open_page, rosa, grief):
    page = open_page(rosa)
    assert faults_of(page, {"llm:home, none": reverse("llm:home", args=[grief.slug])}) == []
    assert faults_of(page, pages_of_models(rosa, grief)) == []


def test_the_pages_of_checks_are_accessible_and_fit(open_page, rosa, grief):
    assert faults_of(open_page(rosa), pages_of_checks(rosa, grief)) == []


def test_every_page_of_prompts_is_accessible_and_fits(open_page, rosa, grief):
    rate_a_little(grief)
    assert faults_of(open_page(rosa), pages_of_prompts(rosa, grief)) == []


def test_every_page_of_rating_uploads_is_accessible_and_fits(open_page, rosa, grief):
    assert faults_of(open_page(rosa), pages_of_rating_uploads(rosa, grief)) == []


def test_every_page_of_reports_is_accessible_and_fits(open_page, rosa, grief):
    first = {name: reverse(name, args=[grief.slug]) for name in ("reports:list", "reports:exports", "reports:new")}
    page = open_page(rosa)
    assert faults_of(page, first) == []
    assert faults_of(page, pages_of_reports(rosa, grief)) == []


def test_every_page_of_uploads_is_accessible_and_fits(open_page, rosa, letters):
    assert faults_of(open_page(rosa), pages_of_uploads(rosa, letters)) == []


def test_every_page_of_writing_is_accessible_and_fits(open_page, rosa, letters, framework):
    conversation = letters.conversations.first()
    conversation.metadata, conversation.factors = {"n": 3, "a_very_long_name_" * 5: "x" * 200}, {"model": "A"}
    conversation.save()
    assert faults_of(open_page(rosa), pages_of_writing(letters, framework)) == []


def test_every_page_of_what_is_frozen_or_used_is_accessible_and_fits(open_page, rosa, grief, letters, framework):
    pages = pages_of_writing(letters, framework)
    used = {name: address for name, address in pages.items() if name.endswith("-delete")}
    assert faults_of(open_page(rosa), used) == []
    freeze_datasets(dataset_ids=[letters.pk])
    shown = {name: pages[name] for name in ("corpus:conversation-edit", "corpus:conversation-new")}
    shown["corpus:dataset"] = reverse("corpus:dataset", args=[letters.slug])
    assert faults_of(open_page(rosa), shown) == []


def test_pages_with_nothing_on_them_yet_are_accessible_and_fit(open_page, rosa):
    addresses = ["dashboard:home", "accounts:keys", "corpus:datasets", "frameworks:list", "studies:list", "common:jobs"]
    assert faults_of(open_page(rosa), {name: reverse(name) for name in addresses}) == []


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desk", "phone"])
def test_pages_of_errors_are_accessible_and_fit(open_page, emil, watch, viewport):
    watch.expected += ["404 (Not Found)", "403 (Forbidden)", "429 (Too Many Requests)"]
    page = open_page(emil, viewport=viewport)
    for address, status in [("/no/such/page/", 404), (reverse("accounts:users"), 403)]:
        response = page.goto(address)
        assert response is not None
        assert response.status == status
        assert accessibility_faults(page) == []
        assert not scrolls_sideways(page)
    stranger = open_page(viewport=viewport)
    for _ in range(5):
        stranger.goto(reverse("accounts:sign-in"))
        stranger.get_by_label("E-mail address").fill(emil.email)
        stranger.get_by_label("Password").fill("wrong")
        stranger.get_by_role("button", name="Sign in").click()
    assert "Too many attempts" in stranger.title()
    assert accessibility_faults(stranger) == []
    assert not scrolls_sideways(stranger)


def test_no_page_is_forgotten(rosa, grief):
    # Seen by others than the owner: in the tests of raters above, and in test_inviting.py.
    elsewhere = {"studies:rating-leave", "invitations:opened"}
    walked = set(pages_of_strangers(rosa)) | set(pages_of_people(rosa, grief)) | set(pages_of_jobs(rosa))
    walked |= set(pages_of_rating_uploads(rosa, grief)) | set(pages_of_reports(rosa, grief))
    walked |= set(pages_of_uploads(rosa, grief.blocks.get().dataset)) | set(pages_of_endpoints(rosa))
    walked |= set(pages_of_writing(grief.blocks.get().dataset, grief.blocks.get().frameworks.get()))
    walked |= set(pages_of_setup(rosa, grief)) | set(pages_of_baselines(rosa, grief))
    walked |= set(pages_of_prompts(rosa, grief)) | set(pages_of_checks(rosa, grief))
    walked |= set(pages_of_models(rosa, grief))
    walked |= set(pages_of_rating(grief)) | {"rating:preview"} | set(pages_of_agreement(grief))
    elsewhere |= {"rating:items", "rating:item-ratings"}  # walked by a test of their own
    elsewhere |= {"llm:run", "llm:calls", "llm:call"}  # in every state, in test_model_run.py
    pages = {name for name in names(get_resolver()) if "api/" not in name} - NO_PAGES
    walked |= set(pages_of_taking_part(grief)) | elsewhere
    assert {name for name in pages if not name.startswith("api")} - walked == set()
