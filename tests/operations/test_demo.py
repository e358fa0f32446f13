"""The demo: conversations written for Accord, labelled simulations, and logins that stay shut where they must."""

import csv
import json
import re
import stat
from collections import Counter
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from apps.accounts.models import User
from apps.accounts.services.users import deactivate_user
from apps.annotation.models import Rating
from apps.corpus.models import Conversation, Dataset
from apps.operations.demo.conversations import demo_conversations
from apps.operations.demo.simulation import QUALITY
from apps.studies.models import BlockGroup, MemberRole, RaterKind, Study, StudyStatus
from apps.studies.services.slots import work_left

DIMENSIONS = 21


@pytest.fixture
def var(settings, tmp_path: Path) -> Path:
    settings.VAR_DIR = tmp_path
    return tmp_path


@pytest.fixture
def demo(db, var: Path) -> Study:
    call_command("load_frameworks", verbosity=0)
    call_command("seed_demo", verbosity=0)
    return Study.objects.get(slug="demo")


def test_the_conversations_are_many_varied_and_whole():
    conversations = list(demo_conversations())
    assert len(conversations) >= 24
    assert len({entry.record.external_id for entry in conversations}) == len(conversations)
    assert len({entry.record.content_hash for entry in conversations}) == len(conversations)
    assert len({entry.record.metadata["topic"] for entry in conversations}) >= 8
    assert set(Counter(entry.quality for entry in conversations)) == set(QUALITY)
    lengths = [len(entry.record.turns) for entry in conversations]
    assert min(lengths) == 2
    assert max(lengths) == 30
    assert all(turn.text.strip() for entry in conversations for turn in entry.record.turns)
    assert all(entry.record.turns[0].role == "seeker" for entry in conversations)


def test_the_demo_holds_three_kinds_of_raters_all_labelled_simulated(demo: Study):
    kinds = Counter(demo.raters.filter(is_simulated=True).values_list("kind", flat=True))
    assert set(kinds) == {RaterKind.EXPERT, RaterKind.LLM, RaterKind.CROWD}
    assert kinds[RaterKind.EXPERT] == 3
    assert "simulated" in demo.description
    # The one rater without that label is a person, who has not rated anything yet.
    [person] = demo.raters.filter(is_simulated=False)
    assert person.user.email == "expert@demo.example"
    assert not person.ratings.exists()


@pytest.mark.parametrize("login", ["admin", "researcher"])
def test_the_label_stands_wherever_a_simulated_rater_does(demo: Study, sign_in, tmp_path: Path, login: str):
    client = sign_in(User.objects.get(email=f"{login}@demo.example"))
    names = demo.raters.filter(is_simulated=True).values_list("name", flat=True)
    for page in (reverse("studies:overview", args=["demo"]), reverse("studies:raters", args=["demo"])):
        rows = re.findall(r"<tr.*?</tr>", client.get(page).text, re.DOTALL)
        for name in names:
            assert all("simulated" in row for row in rows if f">{name}<" in row), (page, name)
    answer = client.get(reverse("api-study-raters", args=["demo"])).json()
    assert {row["name"] for row in answer["results"] if row["is_simulated"]} == set(names)
    call_command("export_ratings", "--study", "demo", "--out", str(tmp_path / "r.csv"), stdout=StringIO())
    with (tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        assert {row["is_simulated"] for row in csv.DictReader(file)} == {"true"}


def test_the_expert_has_every_item_waiting(demo: Study, sign_in):
    assert demo.status == StudyStatus.ACTIVE
    assert demo.blocks.get().dataset.is_frozen
    expert = demo.raters.get(is_simulated=False)
    assert expert.kind == RaterKind.EXPERT
    client = sign_in(expert.user)
    assert client.get(reverse("rating:start", args=["demo"])).status_code == 200
    taken = client.post(reverse("rating:next", args=["demo"]))
    assert taken.status_code == 302
    assert taken.url == reverse("rating:item", args=["demo", expert.assignments.get().pk])
    left = work_left(rater=expert)
    assert left.n_free == Conversation.objects.count() - 1


def test_the_study_says_what_to_do_and_whom_to_turn_to(demo: Study):
    assert "**seeker**" in demo.instructions
    assert "illness" in demo.content_warning
    assert "talk to" in demo.support_contact


@pytest.fixture
def old_demo(demo: Study) -> Study:
    """As a version left it in which nobody could rate in the browser: a member, no rater, no group, no freeze."""
    demo.raters.get(is_simulated=False).delete()
    BlockGroup.objects.all().delete()
    Dataset.objects.update(frozen_at=None)
    Study.objects.update(instructions="Read each conversation to its end.", content_warning="")
    return demo


def test_a_demo_of_before_is_opened_to_the_expert_once(old_demo: Study):
    call_command("seed_demo", verbosity=0)
    [expert] = old_demo.raters.filter(is_simulated=False)
    assert (expert.name, expert.kind, expert.user.email) == ("expert4", "expert", "expert@demo.example")
    [group] = BlockGroup.objects.all()
    assert (group.kind, group.overlap) == ("expert", None)
    assert Dataset.objects.get().is_frozen
    old_demo.refresh_from_db()
    assert "**seeker**" in old_demo.instructions
    assert old_demo.content_warning
    call_command("seed_demo", verbosity=0)
    assert old_demo.raters.filter(is_simulated=False).count() == BlockGroup.objects.count() == 1


def test_what_people_decided_about_the_demo_stands(old_demo: Study):
    """Closed, or the expert taken out: a start overrules neither."""
    Study.objects.update(status=StudyStatus.CLOSED)
    call_command("seed_demo", verbosity=0)
    assert not old_demo.raters.filter(is_simulated=False).exists()
    Study.objects.update(status=StudyStatus.ACTIVE)
    old_demo.memberships.filter(role=MemberRole.RATER).delete()
    call_command("seed_demo", verbosity=0)
    assert not old_demo.raters.filter(is_simulated=False).exists()


def test_every_item_is_rated_on_all_21_scales_by_nearly_everybody(demo: Study):
    items, raters = Conversation.objects.count(), demo.raters.filter(is_simulated=True).count()
    rated = Rating.objects.filter(rater__study=demo)
    assert rated.values("dimension").distinct().count() == DIMENSIONS
    assert 0.95 * items * raters * DIMENSIONS < rated.count() < items * raters * DIMENSIONS


def test_seeding_twice_changes_nothing(demo: Study, var: Path):
    logins, ratings = (var / "demo-logins.json").read_text(), Rating.objects.count()
    call_command("seed_demo", verbosity=0)
    assert (var / "demo-logins.json").read_text() == logins
    assert Rating.objects.count() == ratings
    assert Study.objects.count() == 1


def test_the_logins_work_and_only_their_owner_can_read_them(demo: Study, var: Path):
    file = var / "demo-logins.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for login in json.loads(file.read_text()):
        user = User.objects.get(email=login["email"])
        assert user.check_password(login["password"])
        assert user.role == login["role"]


def test_without_their_file_the_logins_get_new_passwords(demo: Study, var: Path):
    before = json.loads((var / "demo-logins.json").read_text())
    (var / "demo-logins.json").unlink()
    call_command("seed_demo", verbosity=0)
    after = json.loads((var / "demo-logins.json").read_text())
    assert [login["email"] for login in after] == [login["email"] for login in before]
    assert all(new["password"] != old["password"] for new, old in zip(after, before, strict=True))


def test_closed_logins_open_with_the_next_start_on_this_machine(demo: Study):
    call_command("seed_demo", "--close-logins", verbosity=0)
    assert not User.objects.filter(is_active=True).exists()
    call_command("seed_demo", verbosity=0)
    assert User.objects.filter(is_active=True).count() == 3


def test_a_login_that_an_admin_deactivated_stays_so(demo: Study):
    deactivate_user(user=User.objects.get(email="expert@demo.example"), actor=None)
    call_command("seed_demo", verbosity=0)
    assert not User.objects.get(email="expert@demo.example").is_active


def test_without_the_frameworks_it_says_what_to_run(db, var: Path):
    with pytest.raises(CommandError, match="run load_frameworks first"):
        call_command("seed_demo", verbosity=0)
    assert not User.objects.exists()
