"""`prepare`: what a start needs, and quick when nothing changed."""

from pathlib import Path

import pytest
from django.core.management import call_command

from apps.frameworks.models import Framework
from apps.operations.services.static_files import collect_static_if_changed


@pytest.fixture
def static_root(settings, tmp_path: Path) -> Path:
    settings.VAR_DIR = tmp_path
    settings.STATIC_ROOT = tmp_path / "static"
    return tmp_path / "static"


def test_it_loads_the_frameworks_gathers_static_files_and_may_run_again(db, static_root: Path):
    for _ in range(2):
        call_command("prepare", verbosity=0)
        assert Framework.objects.filter(is_builtin=True).count() == 6
    assert (static_root / "django_htmx" / "htmx-2.min.js").exists()


def test_static_files_are_gathered_again_only_when_they_changed(settings, static_root: Path, tmp_path: Path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "one.css").write_text("a{}")
    settings.STATICFILES_DIRS = [source]
    assert collect_static_if_changed()
    assert not collect_static_if_changed()
    (source / "two.css").write_text("b{}")
    assert collect_static_if_changed()
    assert (static_root / "two.css").exists()
    (source / "two.css").unlink()
    assert collect_static_if_changed()
    assert not (static_root / "two.css").exists()
