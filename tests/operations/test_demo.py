"""The demo: conversations written for Accord, labelled simulations, and logins that stay shut where they must."""

import json
import stat
from collections import Counter
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.accounts.models import User
from apps.accounts.services.users import deactivate_user
from apps.annotation.models import Rating
from apps.corpus.models import Conversation
from apps.operations.demo.conversations import demo_conversations
from apps.operations.demo.simulation import QUALITY
from apps.studies.models import RaterKind, Study

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
    kinds = Counter(demo.raters.values_list("kind", flat=True))
    assert set(kinds) == {RaterKind.EXPERT, RaterKind.LLM, RaterKind.CROWD}
    assert kinds[RaterKind.EXPERT] == 3
    assert not demo.raters.filter(is_simulated=False).exists()
    assert "simulated" in demo.description


def test_every_item_is_rated_on_all_21_scales_by_nearly_everybody(demo: Study):
    items, raters = Conversation.objects.count(), demo.raters.count()
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
