"""Prompt versions in the browser: written, previewed, read, compared, deleted, by whom, and blind to what."""

import re
from html.parser import HTMLParser

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from apps.corpus.models import Conversation
from apps.llm.default_templates import DEFAULT_TEMPLATES
from apps.llm.forms.prompts import LinesField, PromptForm
from apps.llm.models import Endpoint, Prompt, PromptVersion
from apps.llm.services.prompting import create_version
from apps.llm.templates import Use
from apps.studies.models import Item, MemberRole, Membership, Rater
from apps.studies.services.design import create_study
from tests.conftest import make_dataset, make_framework, make_study
from tests.llm.made import property_test
from tests.llm.test_prompting import new_version, rate, use
from tests.llm.worlds import make_endpoint
from tests.walking import add_person

TEMPLATE = DEFAULT_TEMPLATES[Use.SCALE]
SCRIPT = "<script>planted()</script>"
HTMX = {"HX-Request": "true"}


def address(name: str, study, *args) -> str:
    return reverse(f"llm:{name}", args=[study.slug, *args])


def new_address(study, use: str = "scale") -> str:
    return f"{address('prompt-new', study)}?use={use}"


def form(framework, **changes) -> dict[str, object]:
    """What a browser sends of the form as it begins."""
    given = {
        "act": "save",
        "use": "scale",
        "name": "Plain",
        "system": TEMPLATE.system.replace("\n", "\r\n"),
        "user": TEMPLATE.user.replace("\n", "\r\n"),
        "frameworks": [framework.pk],
        "cannot_tell": "on",
        "examples": "none",
        "seed": "2026",
    }
    return {name: value for name, value in {**given, **changes}.items() if value is not None}


@pytest.fixture
def rated(rosa, framework):
    """A study of eight conversations, rated 1 1 2 3 3 4 5 5 on both scales."""
    study = make_study("rated", owner=rosa, dataset=make_dataset("talks", conversations=8), frameworks=[framework])
    for dimension in framework.dimensions.all():
        rate(study, dimension, [1, 1, 2, 3, 3, 4, 5, 5])
    return study


@pytest.fixture
def version(grief, framework, rosa) -> PromptVersion:
    return create_version(study=grief, name="Plain", new=new_version(framework), by=rosa)


@pytest.fixture
def shown(rated, framework, rosa) -> PromptVersion:
    """A version with one example."""
    item = Item.objects.filter(block__study=rated).order_by("pk")[0]
    examples = {framework.dimensions.first().pk: {"low": item.pk}}
    return create_version(study=rated, name="Shown", new=new_version(framework, examples=examples), by=rosa)


class TestNew:
    def test_what_a_call_asks_for_is_chosen_first(self, grief, rosa, sign_in):
        page = sign_in(rosa).get(address("prompt-new", grief)).content.decode()
        assert "?use=scale" in page
        assert "?use=framework" in page
        assert sign_in(rosa).get(new_address(grief, "neither")).status_code == 200

    @pytest.mark.parametrize("use", Use)
    def test_it_begins_with_the_default_template_and_its_places(self, grief, rosa, sign_in, use):
        response = sign_in(rosa).get(new_address(grief, use))
        assert response.context["form"]["user"].value() == DEFAULT_TEMPLATES[use].user
        page = response.content.decode()
        assert "{{answer_form}}" in page
        assert "the form of the answer and the allowed scores" in page
        assert ("{{scales}}" in page) == (use is Use.FRAMEWORK)

    def test_the_first_version_is_saved_as_it_was_typed(self, grief, framework, rosa, sign_in):
        response = sign_in(rosa).post(new_address(grief), form(framework))
        version = PromptVersion.objects.get()
        assert response.headers["Location"] == address("prompt-version", grief, version.pk)
        assert version.template == TEMPLATE
        assert (str(version), version.created_by, version.cannot_tell) == ("Plain v1", rosa, True)
        assert [*version.frameworks.all()] == [framework]

    @pytest.mark.parametrize(
        ("changes", "field", "message"),
        [
            ({"user": "{{question}} {{points}} {{conversation}}"}, "user", "{{answer_form}} is missing."),
            ({"user": TEMPLATE.user + "{{colour}}"}, "user", "Unknown placeholders: {{colour}}."),
            ({"system": "{{conversation}}"}, "system", "{{conversation}} may stand in the user message only."),
            ({"system": "{{ tone"}, "system", "opens a placeholder with {{ and does not close it"),
            ({"frameworks": []}, "frameworks", "This field is required."),
            ({"frameworks": [999_999_999]}, "frameworks", "999999999 is not one of the available choices"),
            ({"name": " "}, "name", "This field is required."),
            ({"name": "a\0b"}, "name", "Give a text in one line"),
            ({"examples": "many"}, "examples", "Select a valid choice."),
            ({"examples": "lot"}, "examples", "No conversation has an expert median that is a point of a scale"),
        ],
    )
    def test_what_is_to_be_mended_stands_beside_its_field(
        self, grief, framework, rosa, sign_in, changes, field, message
    ):
        response = sign_in(rosa).post(new_address(grief), form(framework, **changes))
        assert response.status_code == 422
        assert message in " ".join(response.context["form"].errors[field])
        assert not Prompt.objects.exists()

    def test_a_name_is_taken_once(self, version, framework, rosa, sign_in):
        response = sign_in(rosa).post(new_address(version.prompt.study), form(framework, name="Plain"))
        assert response.status_code == 422
        assert "The study has a prompt of this name" in response.content.decode()

    @pytest.mark.parametrize(("who", "status"), [("ada", 200), ("emil", 404), ("otto", 404)])
    def test_it_is_for_whoever_manages_the_study(self, grief, sign_in, request, who, status):
        client = sign_in(request.getfixturevalue(who))
        assert client.get(new_address(grief)).status_code == status
        assert sign_in(None).get(new_address(grief)).status_code == 302

    def test_researchers_may_not_write_and_may_read(self, version, otto, sign_in):
        study = version.prompt.study
        Membership.objects.create(study=study, user=otto, role=MemberRole.RESEARCHER)
        client = sign_in(otto)
        assert client.get(new_address(study)).status_code == 403
        assert client.get(address("prompt-edit", study, version.pk)).status_code == 403
        assert client.get(address("prompt-delete", study, version.pk)).status_code == 403
        assert client.post(address("prompt-preview", study)).status_code == 403
        page = client.get(address("prompt-version", study, version.pk))
        assert page.status_code == 200
        assert "New version from this one" not in page.content.decode()


class TestEdit:
    def test_it_makes_the_next_version_with_a_note(self, version, framework, rosa, sign_in):
        study = version.prompt.study
        there = address("prompt-edit", study, version.pk)
        assert sign_in(rosa).get(there).context["form"]["system"].value() == version.system
        sign_in(rosa).post(there, form(framework, system="Rate calmly.", note="calmer words", name=None))
        newest = version.prompt.versions.first()
        assert (newest.number, newest.system, newest.note) == (2, "Rate calmly.", "calmer words")
        version.refresh_from_db()
        assert version.template == TEMPLATE

    def test_nothing_changed_is_said_and_nothing_is_made(self, version, framework, rosa, sign_in):
        study = version.prompt.study
        there = address("prompt-edit", study, version.pk)
        page = sign_in(rosa).post(there, form(framework, name=None), follow=True).content.decode()
        assert "Nothing changed: Plain v1 says exactly this already." in page
        assert PromptVersion.objects.count() == 1

    def test_an_old_version_can_be_the_beginning(self, version, framework, rosa, sign_in):
        study = version.prompt.study
        create_version(study=study, name="Plain", new=new_version(framework, system="Other."), by=rosa)
        sign_in(rosa).post(address("prompt-edit", study, version.pk), form(framework, name=None))
        assert version.prompt.versions.first().number == 3

    def test_another_studys_version_is_not_there(self, version, strangers, rosa, otto, sign_in):
        for name in ("prompt-version", "prompt-edit", "prompt-delete"):
            assert sign_in(otto).get(address(name, strangers, version.pk)).status_code == 404
        assert sign_in(otto).get(address("prompt-diff", strangers, version.pk, version.pk)).status_code == 404


class TestExamples:
    def test_by_lot_they_are_drawn_when_the_version_is_saved(self, rated, framework, rosa, sign_in):
        sign_in(rosa).post(new_address(rated), form(framework, examples="lot", seed="7"))
        version = PromptVersion.objects.get()
        assert version.example_seed == 7
        assert version.examples.count() == 6

    def test_the_button_fills_the_lists_and_saves_nothing(self, rated, framework, rosa, sign_in):
        response = sign_in(rosa).post(new_address(rated), form(framework, act="draw", seed="7"))
        assert response.status_code == 200
        assert not Prompt.objects.exists()
        shown = response.context["form"]
        assert shown.mode == "hand"
        fields = [field for group in shown.example_groups for row in group.rows for field in row.fields]
        assert len(fields) == 6
        assert all(field.value() for field in fields)
        page = " ".join(response.content.decode().split())
        assert "<strong>3 conversations</strong> are left out of the rater’s evaluation" in page
        filled = {field.html_name: field.value() for field in fields}
        # Left as the lot drew them, they keep its seed.
        sign_in(rosa).post(new_address(rated), form(framework, examples="hand", seed="7", **filled))
        assert PromptVersion.objects.get().example_seed == 7

    def test_by_hand_each_can_be_another_and_the_seed_is_gone(self, rated, framework, rosa, sign_in):
        first, _second = framework.dimensions.all()
        item = Item.objects.filter(block__study=rated).order_by("pk")[3]
        sign_in(rosa).post(new_address(rated), form(framework, examples="hand", **{f"example-{first.pk}-low": item.pk}))
        version = PromptVersion.objects.get()
        assert version.example_seed is None
        assert [(one.dimension, one.slot, one.item, one.score) for one in version.examples.all()] == [
            (first, "low", item, 3.0)
        ]

    @pytest.mark.parametrize(
        ("low", "high", "message"),
        [
            ("", "", "No example is chosen."),
            ("0", "0", "This conversation is chosen for the scale already."),
            ("99", "", "Select a valid choice."),
        ],
    )
    def test_choices_that_cannot_be_followed(self, rated, framework, rosa, sign_in, low, high, message):
        items = [*Item.objects.filter(block__study=rated).order_by("pk")]
        dimension = framework.dimensions.first()
        given = {
            f"example-{dimension.pk}-{slot}": items[int(place)].pk if place == "0" else place
            for slot, place in (("low", low), ("high", high))
        }
        response = sign_in(rosa).post(new_address(rated), form(framework, examples="hand", **given))
        assert response.status_code == 422
        assert message in response.content.decode()

    def test_the_template_must_have_a_place_for_them(self, rated, framework, rosa, sign_in):
        without = TEMPLATE.user.replace("{{examples}}", "")
        response = sign_in(rosa).post(new_address(rated), form(framework, examples="lot", user=without))
        assert response.status_code == 422
        assert "has no {{examples}} to show them" in response.content.decode()

    def test_a_new_version_keeps_them_and_says_which_are_gone(self, shown, framework, rosa, sign_in):
        study = shown.prompt.study
        there = address("prompt-edit", study, shown.pk)
        response = sign_in(rosa).get(there)
        chosen = [
            field.value()
            for group in response.context["form"].example_groups
            for row in group.rows
            for field in row.fields
            if field.value()
        ]
        assert chosen == [shown.examples.get().item_id]
        Item.objects.filter(pk=shown.examples.get().item_id).update(role="practice")
        page = " ".join(sign_in(rosa).get(there).content.decode().split())
        assert "1 example of the version before can no longer be shown" in page

    def test_who_rates_writes_without_them_and_sees_no_median(self, shown, framework, rosa, sign_in):
        study = shown.prompt.study
        add_person(study, rosa, "expert8", role=MemberRole.OWNER)
        client = sign_in(rosa)
        example = shown.examples.get()
        name = example.item.conversation.external_id
        for there in (
            address("prompt-version", study, shown.pk),
            address("prompt-edit", study, shown.pk),
            address("prompt-diff", study, shown.pk, shown.pk),
        ):
            page = client.get(there).content.decode()
            assert "you rate in this study" in " ".join(page.split())
            # It stands in the list of conversations to preview, and nowhere else.
            assert name not in re.sub(r"<option[^>]*>[^<]*</option>", "", page)
        preview = client.get(
            address("prompt-version", study, shown.pk), preview_of(study, framework), headers=HTMX
        ).content.decode()
        assert "median" not in preview
        client.post(
            address("prompt-edit", study, shown.pk),
            form(framework, examples="lot", act="save", system="x", name=None),
        )
        assert not shown.prompt.versions.first().examples.exists()

    def test_how_many_are_left_out_counts_copies(self, shown, rosa, sign_in):
        study = shown.prompt.study
        item = shown.examples.get().item
        other = Item.objects.filter(block__study=study).exclude(pk=item.pk).first()
        other.conversation.turns.filter(index=0).update(text=item.conversation.turns.get(index=0).text)
        page = sign_in(rosa).get(address("prompt-version", study, shown.pk)).content.decode()
        assert "2 conversations are shown, and left out" in " ".join(page.split())


def preview_of(study, framework, **changes) -> dict[str, object]:
    item = Item.objects.filter(block__study=study).order_by("pk").last()
    dimension = framework.dimensions.first()
    return {"preview-item": item.pk, "preview-scale": f"{framework.pk}/{dimension.pk}", **changes}


def offered(page) -> list[str]:
    """The ids of the conversations that can be chosen."""
    return [label.split()[0] for _pk, label in page.context["preview_form"].fields["item"].choices]


class TestPreview:
    def test_a_stored_version_as_part_and_as_page(self, version, framework, rosa, sign_in):
        study = version.prompt.study
        there = address("prompt-version", study, version.pk)
        part = sign_in(rosa).get(there, preview_of(study, framework), headers=HTMX).content.decode()
        assert part.strip().startswith('<div id="preview"')
        assert "I lost letter 3." in part
        assert "How much?" in part
        assert "cannot_tell" in part
        page = sign_in(rosa).get(there, preview_of(study, framework)).content.decode()
        assert "<html" in page
        assert "I lost letter 3." in page

    def test_tokens_add_up_and_an_endpoint_is_chosen(self, version, framework, rosa, sign_in):
        study, client = version.prompt.study, sign_in(rosa)
        there = address("prompt-version", study, version.pk)
        assert ">near</option>" not in client.get(there).content.decode()
        near = make_endpoint("near")
        assert f'<option value="{near.pk}" selected>near</option>' in client.get(there).content.decode()
        answer = client.get(there, preview_of(study, framework, **{"preview-endpoint": near.pk}), headers=HTMX)
        shown = answer.context["preview"]
        parts = [message.tokens for message in shown.messages] + [shown.schema_tokens, shown.tokens_around]
        assert sum(parts) == shown.tokens
        assert shown.tokens_around > 0
        assert f"and {shown.tokens_around} that the form of the chat adds around them" in answer.content.decode()

    def test_the_preview_stands_before_the_button_that_saves(self, version, rosa, sign_in):
        page = sign_in(rosa).get(address("prompt-edit", version.prompt.study, version.pk)).content.decode()
        assert page.index(">Preview</button>") < page.index(">Save as a new version</button>")

    def test_what_is_not_saved_yet_as_part_and_as_page(self, grief, framework, rosa, sign_in):
        given = form(framework, system="Rate with unsaved care.", name="", **preview_of(grief, framework))
        part = sign_in(rosa).post(address("prompt-preview", grief), given, headers=HTMX)
        assert part.status_code == 200
        assert part.content.decode().strip().startswith('<div id="preview"')
        assert "Rate with unsaved care.</pre>" in part.content.decode()
        page = sign_in(rosa).post(address("prompt-preview", grief), given).content.decode()
        assert "Rate with unsaved care.</pre>" in page
        assert 'data-unsaved="yes"' in page
        assert f'action="{new_address(grief)}"' in page
        assert not Prompt.objects.exists()

    def test_from_a_version_it_goes_on_to_the_next(self, version, framework, rosa, sign_in):
        study = version.prompt.study
        given = form(framework, name=None, base=version.pk, system="Unsaved.", **preview_of(study, framework))
        page = sign_in(rosa).post(address("prompt-preview", study), given).content.decode()
        assert f'action="{address("prompt-edit", study, version.pk)}"' in page
        assert "Unsaved.</pre>" in page

    def test_a_whole_framework(self, grief, framework, rosa, sign_in):
        template = DEFAULT_TEMPLATES[Use.FRAMEWORK]
        texts = {"use": "framework", "system": template.system, "user": template.user}
        given = form(framework, **texts, **preview_of(grief, framework)) | {"preview-scale": framework.pk}
        part = sign_in(rosa).post(address("prompt-preview", grief), given, headers=HTMX).content.decode()
        assert "Scale 1" in part
        assert "Scale 2" in part

    def test_examples_stand_in_it_with_their_medians(self, rated, framework, rosa, sign_in):
        given = form(framework, examples="lot", **preview_of(rated, framework))
        part = sign_in(rosa).post(address("prompt-preview", rated), given, headers=HTMX).content.decode()
        assert "Example 3. Experts&#x27; median: &quot;scale_1&quot; 5." in part
        assert "3 conversations, which are shown as examples" in " ".join(part.split())

    def test_fit_and_cost_at_an_endpoint(self, grief, framework, rosa, sign_in):
        endpoint = Endpoint.objects.create(
            name="here", model="small", context_tokens=4_321, reply_tokens=777, price_input=1000, price_output=0
        )
        given = form(framework, **preview_of(grief, framework)) | {"preview-endpoint": endpoint.pk}
        response = sign_in(rosa).post(address("prompt-preview", grief), given, headers=HTMX)
        fit = response.context["preview"].fit
        tokens = response.context["preview"].tokens
        assert (fit.problem, fit.longest_problem, fit.n_items, fit.n_calls) == ("", "", 3, 6)
        endpoint.refresh_from_db()
        assert fit.cost_of_call == endpoint.cost_of(tokens, 0)
        # Three conversations of one length on two scales that differ in nothing but a digit.
        assert abs(fit.input_tokens - 6 * tokens) <= 6
        assert "4,321 tokens are held, 777 of them kept" in " ".join(response.content.decode().split())
        Endpoint.objects.update(context_tokens=tokens, price_input=None)
        part = sign_in(rosa).post(address("prompt-preview", grief), given, headers=HTMX).content.decode()
        assert "does not fit" in part
        assert "not known: no prices" in part

    def test_only_the_longest_does_not_fit(self, grief, framework, rosa, sign_in):
        first = Item.objects.filter(block__study=grief).order_by("pk")[0]
        first.conversation.turns.filter(index=0).update(text="word " * 4_000)
        endpoint = Endpoint.objects.create(name="here", model="small", context_tokens=3_000, reply_tokens=500)
        given = form(framework, **preview_of(grief, framework)) | {"preview-endpoint": endpoint.pk}
        part = sign_in(rosa).post(address("prompt-preview", grief), given, headers=HTMX).content.decode()
        assert "not all of them fit" in part
        assert "The longest prompt of the study is that about letters-001." in " ".join(part.split())

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"user": "{{question}}"}, "User message: {{points}} is missing."),
            ({"user": TEMPLATE.user + "{{guideline}}" * 1_233}, "User message: {{guideline}} stands there 1,234 times"),
            ({"preview-item": "999999"}, "Conversation: Select a valid choice."),
            ({"preview-scale": "1/x"}, "Scale: Select a valid choice."),
            ({"preview-endpoint": "no"}, "Endpoint: Select a valid choice."),
        ],
    )
    def test_what_keeps_it_from_being_made_is_said(self, grief, framework, rosa, sign_in, changes, message):
        given = form(framework, **preview_of(grief, framework)) | changes
        part = sign_in(rosa).post(address("prompt-preview", grief), given, headers=HTMX)
        assert part.status_code == 200
        assert message in part.content.decode()

    def test_few_conversations_are_not_looked_for(self, version, rosa, sign_in):
        page = sign_in(rosa).get(address("prompt-version", version.prompt.study, version.pk))
        assert 'name="preview-find"' not in page.content.decode()

    def test_of_many_conversations_any_can_be_found(self, rated, framework, rosa, sign_in, monkeypatch):
        """Eight, of which three are offered at once; by a part of the id, in any case, and by the title."""
        monkeypatch.setattr("apps.llm.forms.prompt_preview.MOST_ITEMS", 3)
        version = create_version(study=rated, name="Plain", new=new_version(framework), by=rosa)
        there = address("prompt-version", rated, version.pk)
        client = sign_in(rosa)
        first = Item.objects.filter(block__study=rated).order_by("pk")[0]
        assert offered(client.get(there)) == ["talks-001", "talks-002", "talks-003"]
        asked = preview_of(rated, framework, **{"preview-item": first.pk, "preview-find": " TALKS-007 "})
        page = client.get(there, asked)
        assert offered(page) == ["talks-007"]
        assert page.context["preview"].item.conversation.external_id == "talks-007"
        part = client.get(there, asked, headers=HTMX).content.decode()
        assert '<div id="preview-items" hx-swap-oob="innerHTML">' in part
        assert part.count("talks-007") > 1
        Conversation.objects.filter(external_id="talks-006").update(title="A lost dog")
        assert offered(client.get(there, asked | {"preview-find": "lost d"})) == ["talks-006"]
        many = client.get(there, asked | {"preview-find": "talks"})
        assert many.context["preview"].item == first
        assert "The first 3 that were found." in many.content.decode()

    @pytest.mark.parametrize(
        ("find", "message"),
        [
            ("nowhere", "Find: No conversation has this in its id or title."),
            ("a\0b", "Find: Null characters are not allowed."),
            ("x" * 101, "Find: Ensure this value has at most 100 characters"),
        ],
    )
    def test_what_cannot_be_found_is_said(self, rated, framework, rosa, sign_in, monkeypatch, find, message):
        monkeypatch.setattr("apps.llm.forms.prompt_preview.MOST_ITEMS", 3)
        given = form(framework, **preview_of(rated, framework, **{"preview-find": find}))
        part = sign_in(rosa).post(address("prompt-preview", rated), given, headers=HTMX)
        assert message in part.content.decode()

    def test_in_the_form_of_a_prompt_the_enter_key_does_not_save_what_is_looked_for(
        self, rated, framework, rosa, sign_in, monkeypatch
    ):
        monkeypatch.setattr("apps.llm.forms.prompt_preview.MOST_ITEMS", 3)
        page = sign_in(rosa).get(new_address(rated)).content.decode()
        assert '<textarea name="preview-find"' in page

    def test_a_framework_that_is_not_asked_for(self, grief, framework, rosa, sign_in):
        other = make_framework("other-scales")
        grief.blocks.get().block_frameworks.create(framework=other, position=1)
        given = form(framework, **preview_of(grief, other))
        part = sign_in(rosa).post(address("prompt-preview", grief), given, headers=HTMX).content.decode()
        assert "The version does not ask for this framework." in part

    def test_ladder(self, version, strangers, framework, rosa, otto, emil, sign_in):
        study = version.prompt.study
        there = address("prompt-preview", study)
        given = form(framework, **preview_of(study, framework))
        assert sign_in(rosa).get(there).status_code == 405
        assert sign_in(None).post(there, given).status_code == 302
        assert sign_in(emil).post(there, given).status_code == 404
        assert sign_in(rosa).post(there, given | {"use": "neither"}).status_code == 404
        assert sign_in(rosa).post(there, given | {"base": "x"}).status_code == 404
        # Another study's version, and another study's conversation.
        theirs = sign_in(otto).post(address("prompt-preview", strangers), given | {"base": version.pk})
        assert theirs.status_code == 404
        foreign = sign_in(otto).post(address("prompt-preview", strangers), given, headers=HTMX).content.decode()
        assert "Select a valid choice" in foreign
        assert "I lost letter" not in foreign


class TestVersionPage:
    def test_it_says_what_there_is(self, shown, framework, rosa, sign_in):
        study = shown.prompt.study
        use(shown, "Small model")
        create_version(study=study, name="Shown", new=new_version(framework, note="no examples"), by=rosa)
        page = " ".join(sign_in(rosa).get(address("prompt-version", study, shown.pk)).content.decode().split())
        for text in ("Shown v1", "Warmth Scales (version 1)", "Small model", "talks-001", "no examples"):
            assert text in page
        assert "1 conversation is shown, and left out" in page
        assert "Delete this version" not in page

    def test_ladder(self, version, rosa, emil, sign_in):
        there = address("prompt-version", version.prompt.study, version.pk)
        assert sign_in(rosa).get(there).status_code == 200
        assert sign_in(rosa).post(there).status_code == 405
        assert sign_in(emil).get(there).status_code == 404
        assert sign_in(None).get(there).status_code == 302

    def test_the_list_of_prompts(self, version, rosa, framework, sign_in):
        study = version.prompt.study
        use(version)
        new = new_version(framework, system="Rate.", note="the newest of them")
        create_version(study=study, name="Plain", new=new, by=rosa)
        page = sign_in(rosa).get(address("home", study))
        [row] = page.context["prompts"]
        assert (row.newest.number, row.n_versions, row.n_raters) == (2, 2, 1)
        assert "the newest of them" in page.content.decode()


class TestDiff:
    def test_lines_are_marked_by_words_too(self, version, framework, rosa, sign_in):
        study = version.prompt.study
        new = create_version(study=study, name="Plain", new=new_version(framework, system="Rate calmly."), by=rosa)
        page = sign_in(rosa).get(address("prompt-diff", study, version.pk, new.pk))
        lines = [(line.change, line.text) for line in page.context["diff"].lines]
        assert ("added", "Rate calmly.") in lines
        assert ("removed", TEMPLATE.system.split("\n")[0]) in lines
        assert ("same", "--- user message ---") in lines
        assert "added:" in page.content.decode()
        back = sign_in(rosa).get(address("prompt-diff", study, new.pk, version.pk)).context["diff"].lines
        assert ("removed", "Rate calmly.") in [(line.change, line.text) for line in back]

    def test_too_long_for_lines_they_stand_whole(self, version, framework, rosa, sign_in):
        study = version.prompt.study
        new = create_version(study=study, name="Plain", new=new_version(framework, system="Calm.\n" * 2000), by=rosa)
        page = sign_in(rosa).get(address("prompt-diff", study, version.pk, new.pk))
        assert page.context["diff"].lines is None
        text = page.content.decode()
        assert "too different, to be shown line by line" in text
        assert text.count('<pre class="prompt-text"') == 2
        assert text.count("Calm.") == 2000
        assert "diff__line" not in text
        alone = sign_in(rosa).get(address("prompt-diff", study, new.pk, new.pk)).content.decode()
        assert "Both say the same." in alone
        assert alone.count('<pre class="prompt-text"') == 1

    def test_two_that_are_the_same(self, version, rosa, sign_in):
        page = sign_in(rosa).get(address("prompt-diff", version.prompt.study, version.pk, version.pk))
        assert "Both say the same." in page.content.decode()

    def test_ladder(self, version, rosa, emil, sign_in):
        there = address("prompt-diff", version.prompt.study, version.pk, version.pk)
        assert sign_in(rosa).post(there).status_code == 405
        assert sign_in(emil).get(there).status_code == 404
        assert sign_in(None).get(there).status_code == 302


class TestDelete:
    def test_by_typing_what_it_is_called(self, version, rosa, sign_in):
        study = version.prompt.study
        there = address("prompt-delete", study, version.pk)
        assert sign_in(rosa).get(there).status_code == 200
        assert sign_in(rosa).post(there, {"confirm": "Plain"}).status_code == 422
        response = sign_in(rosa).post(there, {"confirm": " Plain v1 "})
        assert response.headers["Location"] == address("home", study)
        assert not Prompt.objects.exists()

    def test_a_raters_version_stays(self, version, rosa, sign_in):
        there = address("prompt-delete", version.prompt.study, version.pk)
        use(version)
        assert "It says what the rater was asked, and stays." in sign_in(rosa).get(there).content.decode()
        response = sign_in(rosa).post(there, {"confirm": "Plain v1"})
        assert response.status_code == 422
        assert PromptVersion.objects.exists()


def test_markup_is_text_everywhere(rated, framework, rosa, sign_in):
    """The escaping walk has no form that comes back, no preview and no fault."""
    texts = {"system": f"{SCRIPT}{{{{scale}}}}", "note": SCRIPT}
    first = create_version(study=rated, name=SCRIPT, new=new_version(framework, **texts), by=rosa)
    second = create_version(study=rated, name=SCRIPT, new=new_version(framework, user=TEMPLATE.user + SCRIPT), by=rosa)
    use(first, SCRIPT)
    client = sign_in(rosa)
    given = preview_of(rated, framework)
    pages = [
        client.get(address("home", rated)),
        client.get(address("prompt-version", rated, first.pk), given),
        client.get(address("prompt-edit", rated, first.pk)),
        client.get(address("prompt-diff", rated, first.pk, second.pk)),
        client.get(address("prompt-delete", rated, second.pk)),
        client.post(address("prompt-preview", rated), form(framework, **texts, **given)),
        client.post(address("prompt-preview", rated), form(framework, user=SCRIPT + "{{<script>}}", **given)),
        client.post(new_address(rated), form(framework, name=SCRIPT * 3, user=SCRIPT + "{{<script>}}")),
    ]
    for page in pages:
        text = page.content.decode()
        assert "&lt;script&gt;" in text
        assert "<script>" not in text


@pytest.mark.parametrize("name", ["prompt-version", "prompt-edit", "prompt-diff", "home"])
def test_the_number_of_queries_does_not_grow(rated, framework, rosa, sign_in, django_assert_num_queries, name):
    def version_with_examples(number: int) -> PromptVersion:
        items = list(Item.objects.filter(block__study=rated).order_by("pk"))
        few = {dimension.pk: {"low": items[0].pk} for dimension in framework.dimensions.all()[:1]}
        many = {
            dimension.pk: {"low": items[0].pk, "middle": items[3].pk, "high": items[6].pk}
            for dimension in framework.dimensions.all()
        }
        new = new_version(framework, system=f"Number {number}", examples=many if number else few)
        return create_version(study=rated, name="Many" if number % 2 else "Others", new=new, by=rosa)

    def there(version: PromptVersion) -> str:
        given = "?" + "&".join(f"{key}={value}" for key, value in preview_of(rated, framework).items())
        args = {"prompt-diff": [version.pk, version.pk], "home": []}.get(name, [version.pk])
        return address(name, rated, *args) + (given if name == "prompt-version" else "")

    client = sign_in(rosa)
    few = version_with_examples(0)
    client.get(there(few))
    with CaptureQueriesContext(connection) as counted:
        client.get(there(few))
    for number in range(1, 6):
        many = version_with_examples(number)
        use(many, f"Model {number}")
    with django_assert_num_queries(len(counted)):
        assert client.get(there(many)).status_code == 200


def test_previewing_at_an_endpoint_takes_as_many_queries_for_many_scales(rosa, sign_in, django_assert_num_queries):
    endpoint = Endpoint.objects.create(name="here", model="small", context_tokens=9_000)
    client, counts = sign_in(rosa), []
    for slug, n in (("few", 2), ("many", 9)):
        framework = make_framework(f"{slug}-scales", dimensions=n)
        dataset = make_dataset(f"{slug}-talks", conversations=n + 3)
        study = make_study(slug, owner=rosa, dataset=dataset, frameworks=[framework])
        for dimension in framework.dimensions.all():
            rate(study, dimension, [1, 2, 3, 4, 5])
        given = form(framework, examples="lot", **preview_of(study, framework)) | {"preview-endpoint": endpoint.pk}
        with CaptureQueriesContext(connection) as queries:
            assert "fits" in client.post(address("prompt-preview", study), given, headers=HTMX).content.decode()
        counts.append(len(queries))
    assert counts[0] == counts[1]


class Typed(HTMLParser):
    """What a browser takes out of a text area: a first line break is the markup's own."""

    text, is_inside = "", False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.is_inside = tag == "textarea"

    def handle_endtag(self, tag: str) -> None:
        self.is_inside = False

    def handle_data(self, data: str) -> None:
        self.text += data if self.is_inside else ""


@property_test
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60))
def test_a_text_comes_back_from_the_form_as_it_was_saved(text):
    saved = LinesField(strip=False, required=False).clean(text)
    assert saved == text.replace("\r\n", "\n").replace("\r", "\n")
    shown = Typed()
    shown.feed(PromptForm.base_fields["user"].widget.render("user", saved))
    shown.close()
    sent = shown.text.removeprefix("\n").replace("\n", "\r\n")
    assert LinesField(strip=False, required=False).clean(sent) == saved


def test_a_study_without_frameworks_has_nothing_to_ask(rosa, sign_in):
    study = create_study(slug="empty", title="Empty", owner=rosa)
    page = sign_in(rosa).get(new_address(study))
    assert page.status_code == 200
    assert sign_in(rosa).post(new_address(study), {"act": "save", "name": "x"}).status_code == 422


def test_a_prompt_of_a_study_without_text_says_so(grief, rosa, sign_in):
    for item in Item.objects.filter(block__study=grief):
        item.conversation.turns.update(text=" ")
    assert "no conversation with text" in sign_in(rosa).get(new_address(grief)).content.decode()
    assert not Rater.objects.filter(study=grief, kind="llm").exists()
