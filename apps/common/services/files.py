"""Files that people hand in: stored under names of our own, bounded, and deleted when they are old."""

import hashlib
import logging
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.common.models import OPEN_STATES, StoredFile

if TYPE_CHECKING:
    from apps.accounts.models import User

logger = logging.getLogger(__name__)

KEPT_FOR = timedelta(days=14)
# A file without a row: whoever stored it is done with it, or rolled back, long since.
STRAYS_KEPT_FOR = timedelta(days=1)
UPLOADS = "uploads"


class FileRefused(ValueError):  # noqa: N818 - not a fault of the program
    """A file that is not stored, and why, in a sentence for its owner."""


class FileGone(LookupError):  # noqa: N818
    """The file is no longer kept: only the rows that speak of it are."""


def store_file(*, upload: "UploadedFile[Any]", owner: "User") -> StoredFile:
    """Store the file under a random name, readable by this site alone, with its size and SHA-256.

    Raises FileRefused for an empty file and for one larger than settings.UPLOAD_MAX_BYTES.
    """
    if upload.size is not None and upload.size > settings.UPLOAD_MAX_BYTES:
        raise FileRefused(_too_large())
    digest, size = hashlib.sha256(), 0
    for chunk in upload.chunks():
        digest.update(chunk)
        size += len(chunk)
        if size > settings.UPLOAD_MAX_BYTES:
            raise FileRefused(_too_large())
    if not size:
        raise FileRefused(_("The file is empty."))
    upload.seek(0)
    stored = StoredFile(name=shown_name(upload.name or ""), size=size, sha256=digest.hexdigest(), owner=owner)
    stored.file.save(uuid.uuid4().hex, File(upload.file) if upload.file else upload, save=False)
    stored.save()
    return stored


@contextmanager
def open_stored(stored: StoredFile | None) -> Iterator[BinaryIO]:
    """The bytes of a stored file. Raises FileGone where they are no longer kept."""
    if stored is None:
        raise FileGone
    try:
        opened = default_storage.open(str(stored.file), "rb")
    except FileNotFoundError:
        raise FileGone from None
    with opened:
        yield cast(BinaryIO, opened.file)


def shown_name(name: str) -> str:
    """The name as its owner knows it: without folders, on one line, of at most 255 characters."""
    last = PurePath(name.replace("\\", "/")).name
    return "".join(mark for mark in last if mark.isprintable())[:255] or _("unnamed")


def delete_old_files() -> int:
    """Delete files older than 14 days, and files on disk that no row knows; how many. Uploads keep the file's name.

    An owner with a job under way keeps all files until it is over.
    """
    old = StoredFile.objects.filter(created_at__lt=timezone.now() - KEPT_FOR)
    old = old.exclude(owner__jobs__state__in=OPEN_STATES)
    deleted = 0
    for stored in list(old):
        name = str(stored.file)
        # The row first: a row without its file would promise what is not there.
        with transaction.atomic():
            stored.delete()
        default_storage.delete(name)
        deleted += 1
    return deleted + delete_strays(UPLOADS, lambda name: StoredFile.objects.filter(file=name).exists())


def _too_large() -> str:
    limit = filesizeformat(settings.UPLOAD_MAX_BYTES)
    return _("The file is too large: at most %(limit)s can be uploaded.") % {"limit": limit}


def delete_strays(folder: str, is_known: Callable[[str], bool]) -> int:
    """Delete files below the folder that are older than a day and that no row knows; how many."""
    before = timezone.now() - STRAYS_KEPT_FOR
    deleted = 0
    for name in _files_below(folder):
        if _written_at(name) < before and not is_known(name):
            default_storage.delete(name)
            deleted += 1
    return deleted


def _files_below(folder: str) -> list[str]:
    try:
        folders, files = default_storage.listdir(folder)
    except FileNotFoundError:
        return []
    found = [f"{folder}/{name}" for name in files]
    for name in folders:
        found += _files_below(f"{folder}/{name}")
    return found


def _written_at(name: str) -> datetime:
    return default_storage.get_modified_time(name)
