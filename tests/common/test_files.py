"""Files handed in: where they lie, who may read them, and when they go."""

import hashlib
import os
import stat
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile, TemporaryUploadedFile
from django.utils import timezone

from apps.accounts.models import User
from apps.common.models import JobState, StoredFile
from apps.common.services.files import FileGone, FileRefused, delete_old_files, open_stored, shown_name, store_file
from apps.common.services.jobs import create_job

CONTENT = b"id,text\n1,caf\xc3\xa9\n"


@pytest.fixture(autouse=True)
def own_folder(settings: Any, tmp_path: Path) -> None:
    """What another test left on disk would count as strays."""
    default = settings.STORAGES["default"]
    options = default["OPTIONS"] | {"location": tmp_path / "media"}
    settings.STORAGES = settings.STORAGES | {"default": default | {"OPTIONS": options}}


def stored(owner: User, *, days_old: int = 0) -> StoredFile:
    file = store_file(upload=SimpleUploadedFile("talks.csv", CONTENT), owner=owner)
    StoredFile.objects.filter(pk=file.pk).update(created_at=timezone.now() - timedelta(days=days_old))
    return file


def spooled(content: bytes) -> TemporaryUploadedFile:
    """As Django hands over a large file: on disk already."""
    upload = TemporaryUploadedFile("talks.csv", "text/csv", len(content), None)
    upload.write(content)
    upload.seek(0)
    return upload


@pytest.mark.parametrize("make", [lambda: SimpleUploadedFile("talks.csv", CONTENT), lambda: spooled(CONTENT)])
def test_a_file_is_kept_whole_with_its_size_and_fingerprint(rosa: User, make: Any) -> None:
    file = store_file(upload=make(), owner=rosa)
    file.refresh_from_db()
    with file.file.open("rb") as kept:
        assert kept.read() == CONTENT
    assert (file.name, file.size, file.owner) == ("talks.csv", len(CONTENT), rosa)
    assert file.sha256 == hashlib.sha256(CONTENT).hexdigest()


@pytest.mark.parametrize("make", [lambda: SimpleUploadedFile("talks.csv", CONTENT), lambda: spooled(CONTENT)])
def test_nobody_else_on_the_machine_reads_it(rosa: User, make: Any) -> None:
    path = Path(store_file(upload=make(), owner=rosa).file.path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    media = Path(default_storage.location)
    folders = [folder for folder in path.parents if media in folder.parents]
    assert folders
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


def test_the_name_on_disk_is_never_the_users(rosa: User) -> None:
    file = store_file(upload=SimpleUploadedFile("../../etc/passwd.html", CONTENT), owner=rosa)
    assert "passwd" not in file.file.name
    assert Path(file.file.name).suffix == ""
    assert file.name == "passwd.html"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("C:\\talks\\grief.csv", "grief.csv"),
        ("/home/rosa/grief.csv", "grief.csv"),
        ("gri\nef\x00.csv", "grief.csv"),
        ("Gespräche 1.csv", "Gespräche 1.csv"),
        ("", "unnamed"),
        ("a" * 300, "a" * 255),
    ],
)
def test_a_name_is_shown_on_one_line_without_folders(given: str, shown: str) -> None:
    assert shown_name(given) == shown


def test_a_stored_file_is_opened_while_it_is_kept(rosa: User) -> None:
    file = stored(rosa)
    with open_stored(file) as kept:
        assert kept.read() == CONTENT
    default_storage.delete(file.file.name)
    for gone in (file, None):
        with pytest.raises(FileGone), open_stored(gone):
            pass


def test_an_empty_file_is_refused(rosa: User) -> None:
    with pytest.raises(FileRefused, match="empty"):
        store_file(upload=SimpleUploadedFile("talks.csv", b""), owner=rosa)
    assert not StoredFile.objects.exists()


@pytest.mark.parametrize("told", [True, False])
def test_a_file_beyond_the_limit_is_refused_whatever_size_it_tells(rosa: User, settings: Any, told: bool) -> None:
    settings.UPLOAD_MAX_BYTES = 10
    upload = SimpleUploadedFile("talks.csv", CONTENT)
    if not told:
        upload.size = 1
    with pytest.raises(FileRefused, match="at most 10"):
        store_file(upload=upload, owner=rosa)
    assert not StoredFile.objects.exists()


def test_files_go_after_fourteen_days_and_younger_ones_stay(rosa: User) -> None:
    old, young = stored(rosa, days_old=15), stored(rosa, days_old=13)
    assert delete_old_files() == 1
    assert list(StoredFile.objects.all()) == [young]
    assert not default_storage.exists(old.file.name)
    assert default_storage.exists(young.file.name)


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.RUNNING])
def test_while_a_job_of_its_owner_is_open_an_old_file_stays(rosa: User, otto: User, state: JobState) -> None:
    file, other = stored(rosa, days_old=15), stored(otto, days_old=15)
    job = create_job(kind="talks.import", task="tests.nothing", title="Import", owner=rosa)
    job.state = state
    job.save()
    assert delete_old_files() == 1
    assert StoredFile.objects.filter(pk=file.pk).exists()
    assert not StoredFile.objects.filter(pk=other.pk).exists()
    job.state = JobState.DONE
    job.save()
    assert delete_old_files() == 1


def test_a_file_that_no_row_knows_goes_after_a_day(rosa: User) -> None:
    kept, old, fresh = stored(rosa), stored(rosa), stored(rosa)
    StoredFile.objects.filter(pk__in=[old.pk, fresh.pk]).delete()
    two_days_ago = (timezone.now() - timedelta(days=2)).timestamp()
    for file in (kept, old):
        os.utime(file.file.path, (two_days_ago, two_days_ago))
    assert delete_old_files() == 1
    assert [default_storage.exists(file.file.name) for file in (kept, old, fresh)] == [True, False, True]


def test_where_nothing_was_ever_uploaded_there_is_nothing_to_delete(db: None) -> None:
    assert delete_old_files() == 0
