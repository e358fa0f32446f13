"""Loading a framework in the browser: checked, shown, loaded; nothing typed is lost, nothing unseen is stored."""

from dataclasses import replace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.common.models import AuditEntry
from apps.frameworks.framework_file import dump_framework, parse_framework
from apps.frameworks.models import Framework
from apps.frameworks.services.catalog import example_framework
from apps.frameworks.services.freezing import freeze_frameworks
from apps.frameworks.services.loading import Loaded, Outcome, load_framework, rehearse_loading
from apps.frameworks.yaml_tree import MAX_BYTES
from tests.frameworks.specs import SMALL, changed

pytestmark = pytest.mark.django_db

SPEC = parse_framework(SMALL)
UPLOAD = reverse("frameworks:upload")


@pytest.fixture
def client(sign_in, rosa):
    return sign_in(rosa)


def check(client, text: str = "", **data):
    return client.post(UPLOAD, {"act": "check", "text": text} | data)


def load(client, text: str):
    """As a browser does it: the text is checked, and the form that comes back is sent."""
    form = check(client, text).context["form"]
    return client.post(UPLOAD, {"act": "load", "text": form["text"].value(), "checked": form["checked"].value()})


def file_of(data: bytes | str, name: str = "scales.yaml") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data.encode() if isinstance(data, str) else data)


# --- Who may ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [UPLOAD, reverse("frameworks:start-from", args=["calm-scales", 1])])
def test_researchers_and_admins_load_frameworks_and_nobody_else(page, calm, sign_in, ada, rosa, emil):
    assert sign_in(ada).get(page).status_code == 200
    assert sign_in(rosa).get(page).status_code == 200
    assert sign_in(emil).get(page).status_code == 403
    assert sign_in(None).get(page)["Location"] == f"{reverse('accounts:sign-in')}?next={page}"


def test_an_annotator_stores_nothing(sign_in, emil):
    assert sign_in(emil).post(UPLOAD, {"act": "load", "text": SMALL}).status_code == 403
    assert not Framework.objects.exists()


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_other_methods_are_refused(client, method):
    assert getattr(client, method)(UPLOAD).status_code == 405


def test_the_text_of_a_version_is_only_read(calm, client):
    assert client.post(reverse("frameworks:start-from", args=["calm-scales", 1])).status_code == 405
    assert client.get(reverse("frameworks:start-from", args=["calm-scales", 2])).status_code == 404


def test_only_those_who_may_load_are_shown_the_way(calm, client, sign_in, emil):
    detail = reverse("frameworks:detail", args=["calm-scales"])
    start = reverse("frameworks:start-from", args=["calm-scales", 1])
    assert UPLOAD in client.get(reverse("frameworks:list")).content.decode()
    assert start in client.get(detail).content.decode()
    annotator = sign_in(emil)
    assert UPLOAD not in annotator.get(reverse("frameworks:list")).content.decode()
    assert start not in annotator.get(detail).content.decode()


# --- Checking -----------------------------------------------------------------------------------------------------


def test_an_empty_start_holds_an_example_that_can_be_loaded(client):
    form = client.get(UPLOAD).context["form"]
    assert form["text"].value() == example_framework()
    assert load(client, example_framework()).status_code == 302


def test_a_check_shows_the_scales_and_stores_nothing(client):
    page = check(client, SMALL)
    html = page.content.decode()
    assert page.status_code == 200
    assert "How calm is the supporter?" in html
    assert '<li><span class="scale__value">1</span> <span>Not at all</span></li>' in html
    assert "A new framework" in html
    assert page.context["form"]["text"].value() == SMALL
    assert not Framework.objects.exists()
    assert not AuditEntry.objects.exists()


def test_every_problem_is_told_by_line_and_field_and_the_text_is_kept(client):
    wrong = changed("question: How calm is the supporter?", "qestion: How calm is the supporter?")
    wrong = changed("{value: 3, label: Very}", "{value: 1, label: Very}", wrong)
    page = check(client, wrong)
    html = page.content.decode()
    assert page.status_code == 422
    assert "Line 7, scale &quot;Calm&quot;: dimensions[0].question is missing." in html
    assert "Line 9, scale &quot;Calm&quot;: dimensions[0].qestion is not a field" in html
    assert '<code dir="ltr">qestion: How calm is the supporter?</code>' in html
    assert "dimensions[0].points[2].value must be greater than the point before it" in html
    assert page.context["form"]["text"].value() == wrong
    assert not Framework.objects.exists()


def test_a_mended_text_is_loaded(client):
    wrong = changed("slug: calm-scales", "slug: Calm Scales")
    kept = check(client, wrong).context["form"]["text"].value()
    assert load(client, changed("slug: Calm Scales", "slug: calm-scales", kept)).status_code == 302
    assert Framework.objects.with_scales().get().as_spec() == SPEC


def test_a_file_takes_the_place_of_the_text_and_can_then_be_loaded(client):
    page = check(client, "typed before", file=file_of(SMALL.replace("\n", "\r\n")))
    form = page.context["form"]
    assert form["text"].value() == SMALL
    client.post(UPLOAD, {"act": "load", "text": SMALL, "checked": form["checked"].value()})
    assert Framework.objects.with_scales().get().as_spec() == SPEC


def test_a_file_with_problems_is_put_into_the_editor_to_be_mended(client):
    wrong = changed("level: nominal", "level: ratio")
    page = check(client, file=file_of(wrong))
    assert page.status_code == 422
    assert page.context["form"]["text"].value() == wrong
    assert "must be one of ordinal, nominal" in page.content.decode()


def test_a_file_that_is_no_text_is_refused_and_the_text_stays(client):
    page = check(client, SMALL, file=file_of(b"slug: caf\xe9\n"))
    assert page.status_code == 422
    assert "must be UTF-8 text; byte 9 (0xe9) is not" in page.content.decode()
    assert page.context["form"]["text"].value() == SMALL


def test_an_empty_file_is_refused_and_the_text_stays(client):
    page = check(client, SMALL, file=file_of(b""))
    assert page.status_code == 422
    assert page.context["form"]["text"].value() == SMALL
    assert "The submitted file is empty." in page.content.decode()


@pytest.mark.parametrize("as_file", [True, False])
def test_what_is_too_large_is_refused(client, as_file):
    long = SMALL + "#" * MAX_BYTES
    page = check(client, file=file_of(long)) if as_file else check(client, long)
    assert page.status_code == 422
    assert "must be no larger than 256 kB" in page.content.decode()


def test_a_character_that_no_text_may_hold_is_told_with_its_line(client):
    page = check(client, changed("Count the tone.", "Count\0 the tone."))
    assert page.status_code == 422
    assert "Line 10: The file holds the character U+0000" in page.content.decode()


def test_nothing_at_all_is_refused_in_words(client):
    assert "The file must be a mapping" in check(client, "").content.decode()


def test_the_name_of_a_page_is_no_slug(client):
    page = check(client, changed("slug: calm-scales", "slug: upload"))
    assert "Line 1: slug must not be upload, which is the name of a page." in page.content.decode()


def test_line_ends_of_a_browser_make_no_other_framework(client, calm):
    assert "says exactly this already" in check(client, SMALL.replace("\n", "\r\n")).content.decode()


# --- Loading ------------------------------------------------------------------------------------------------------


def test_a_text_that_was_shown_is_loaded_and_noted(client, rosa):
    response = load(client, SMALL)
    assert response["Location"] == reverse("frameworks:version", args=["calm-scales", 1])
    framework = Framework.objects.with_scales().get()
    assert (framework.as_spec(), framework.loaded_by, framework.is_builtin) == (SPEC, rosa, False)
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.subject) == (rosa, "framework.load", "calm-scales version 1")
    assert "Calm scales (version 1) is loaded." in client.get(response["Location"]).content.decode()


def test_a_text_that_changed_after_it_was_shown_is_shown_again_before_it_is_loaded(client):
    checked = check(client, SMALL).context["form"]["checked"].value()
    other = changed("label: Very", "label: Utterly")
    page = client.post(UPLOAD, {"act": "load", "text": other, "checked": checked})
    assert "has changed since you saw its scales" in page.content.decode()
    assert "Utterly" in page.content.decode()
    assert not Framework.objects.exists()
    form = page.context["form"]
    client.post(UPLOAD, {"act": "load", "text": other, "checked": form["checked"].value()})
    assert Framework.objects.exists()


def test_a_text_that_was_never_shown_is_not_loaded(client):
    assert client.post(UPLOAD, {"act": "load", "text": SMALL}).status_code == 200
    assert not Framework.objects.exists()


def test_the_same_content_is_there_already(client, calm):
    page = check(client, SMALL)
    assert "Version 1 of <code>calm-scales</code> says exactly this already" in page.content.decode()
    assert 'value="load"' not in page.content.decode()
    assert load(client, SMALL)["Location"] == reverse("frameworks:version", args=["calm-scales", 1])
    assert Framework.objects.count() == 1


def test_a_change_of_a_used_framework_becomes_its_next_version_and_says_so_before(client, calm):
    freeze_frameworks(framework_ids=[calm.pk])
    other = changed("name: Calm scales", "name: Calmer scales")
    html = check(client, other).content.decode()
    assert "This will become version 2 of <code>calm-scales</code>" in html
    assert "The slug belongs to “Calm scales”" in html
    load(client, other)
    assert [*Framework.objects.order_by("version").values_list("version", "name")] == [
        (1, "Calm scales"),
        (2, "Calmer scales"),
    ]


def test_a_typing_error_found_at_once_is_mended_in_place(client):
    load(client, SMALL)
    other = changed("label: Very", "label: Utterly")
    assert "This will take the place of version 1" in check(client, other).content.decode()
    load(client, other)
    assert Framework.objects.with_scales().get().as_spec() == parse_framework(other)


def test_nobody_takes_away_what_a_colleague_has_loaded(client, sign_in, otto, ada):
    load(client, SMALL)
    other = changed("label: Very", "label: Utterly")
    load(sign_in(otto), other)
    assert [*Framework.objects.order_by("version").values_list("version", "loaded_by__name")] == [
        (1, "Rosa"),
        (2, "Otto"),
    ]
    load(sign_in(ada), changed("label: Very", "label: Entirely"))
    assert [*Framework.objects.order_by("version").values_list("version", "loaded_by__name")] == [
        (1, "Rosa"),
        (2, "Ada"),
    ]


@pytest.mark.parametrize("act", ["check", "load"])
def test_only_admins_load_new_versions_of_what_comes_with_accord(client, sign_in, ada, act):
    load_framework(spec=SPEC, builtin=True)
    other = changed("label: Very", "label: Utterly")
    page = load(client, other) if act == "load" else check(client, other)
    assert page.status_code == 422
    assert "calm-scales comes with Accord, so only an admin may load a new version of it" in page.content.decode()
    assert page.context["form"]["text"].value() == other
    assert Framework.objects.count() == 1
    load(sign_in(ada), other)
    assert Framework.objects.get(version=2).loaded_by == ada


def test_the_same_content_as_a_built_in_version_is_simply_there(client):
    load_framework(spec=SPEC, builtin=True)
    assert "says exactly this already" in check(client, SMALL).content.decode()


def test_two_who_load_at_the_same_moment_are_told_what_became_of_it(client, monkeypatch):
    """The second sees the scales again, and that they are there already."""

    def beaten(**options):
        monkeypatch.undo()
        load_framework(**options)
        raise IntegrityError

    checked = check(client, SMALL).context["form"]["checked"].value()
    monkeypatch.setattr("apps.frameworks.views.load_framework", beaten)
    page = client.post(UPLOAD, {"act": "load", "text": SMALL, "checked": checked})
    assert "says exactly this already" in page.content.decode()


def test_a_rehearsal_comes_with_its_scales_and_leaves_nothing(rosa, django_assert_num_queries):
    rehearsed: Loaded = rehearse_loading(spec=SPEC, actor=rosa)
    assert rehearsed.outcome == Outcome.CREATED
    with django_assert_num_queries(0):
        assert rehearsed.framework.as_spec() == SPEC
    assert not Framework.objects.exists()


def test_a_check_asks_as_often_for_many_scales_as_for_two(client):
    many = replace(SPEC, dimensions=tuple(replace(SPEC.dimensions[0], slug=f"calm_{number}") for number in range(20)))
    counts = []
    for text in (SMALL, SMALL, dump_framework(many)):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            check(client, text)
        counts.append(len(queries))
    assert counts[1] == counts[2]


# --- Starting from what is there ----------------------------------------------------------------------------------


def test_the_text_of_a_version_is_the_one_it_could_be_loaded_from(client, calm):
    page = client.get(reverse("frameworks:start-from", args=["calm-scales", 1]))
    assert parse_framework(page.context["form"]["text"].value()) == SPEC
    assert "Under the same slug a change becomes its next version" in page.content.decode()


def test_a_researcher_who_starts_from_a_built_in_framework_gets_another_slug(client, sign_in, ada):
    spec = replace(SPEC, slug="s" * 80)
    load_framework(spec=spec, builtin=True)
    start = reverse("frameworks:start-from", args=[spec.slug, 1])
    page = client.get(start)
    given = parse_framework(page.context["form"]["text"].value())
    assert given == replace(spec, slug="s" * 76 + "-own")
    assert "so its slug is changed here" in page.content.decode()
    assert parse_framework(sign_in(ada).get(start).context["form"]["text"].value()) == spec
