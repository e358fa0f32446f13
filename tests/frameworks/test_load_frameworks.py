from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from apps.common.models import AuditEntry
from apps.frameworks.models import Framework
from apps.frameworks.services.catalog import builtin_frameworks
from tests.frameworks.specs import SMALL, changed

pytestmark = pytest.mark.django_db


def load(*files: object) -> list[str]:
    out = StringIO()
    call_command("load_frameworks", *map(str, files), stdout=out)
    return out.getvalue().splitlines()


def refuse(*files: object) -> tuple[str, str]:
    err = StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("load_frameworks", *map(str, files), stdout=StringIO(), stderr=err)
    return str(caught.value), err.getvalue()


@pytest.fixture
def calm_file(tmp_path):
    path = tmp_path / "calm.yaml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def test_the_built_in_frameworks_are_loaded_as_their_files_say():
    assert load() == [
        "answer-correctness version 1: created",
        "empathetic-dialogues version 1: created",
        "epitome version 1: created",
        "lend-an-ear version 1: created",
        "listening-satisfaction version 1: created",
        "perceived-empathy version 1: created",
    ]
    stored = Framework.objects.with_scales().order_by("slug")
    assert [framework.as_spec() for framework in stored] == builtin_frameworks()
    assert all(framework.is_builtin for framework in stored)


def test_loading_twice_changes_nothing():
    load()
    entries = AuditEntry.objects.count()
    assert {line.rsplit(": ", 1)[1] for line in load()} == {"unchanged"}
    assert AuditEntry.objects.count() == entries == 6


def test_a_file_of_ones_own_is_loaded_and_a_change_of_an_unused_one_replaces_it(calm_file):
    assert load(calm_file) == ["calm-scales version 1: created"]
    assert not Framework.objects.get().is_builtin
    calm_file.write_text(changed("Calm scales", "Calmer scales"), encoding="utf-8")
    assert load(calm_file) == ["calm-scales version 1: replaced, nothing used it yet"]


def test_a_wrong_file_among_good_ones_loads_nothing_and_lists_each_problem(calm_file, tmp_path):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(changed("{value: 2}", "{value: two, label: no}"), encoding="utf-8")
    message, listed = refuse(calm_file, wrong)
    assert message == f"{wrong} has 2 problems. Nothing was loaded."
    assert len(listed.splitlines()) == 2
    assert f'{wrong}: Line 14, scale "Calm": dimensions[0].points[1].value must be a number' in listed
    assert Framework.objects.count() == 0


def test_a_file_that_is_not_there_is_refused_in_one_line(tmp_path):
    message, listed = refuse(tmp_path / "missing.yaml")
    assert message == f"{tmp_path}/missing.yaml cannot be read: No such file or directory. Nothing was loaded."
    assert listed == ""


def test_a_huge_file_is_refused(tmp_path):
    path = tmp_path / "huge.yaml"
    path.write_bytes(b"#" * 300_000)
    message, listed = refuse(path)
    assert message == f"{path} has 1 problem. Nothing was loaded."
    assert "no larger than 256 kB" in listed


def test_two_files_of_one_framework_are_refused(calm_file, tmp_path):
    twin = tmp_path / "twin.yaml"
    twin.write_text(changed("Calm scales", "Calmer scales"), encoding="utf-8")
    message, _ = refuse(calm_file, twin)
    assert message == f"{twin} and {calm_file} are both calm-scales. Nothing was loaded."
    assert Framework.objects.count() == 0
