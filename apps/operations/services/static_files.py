"""Gathering static files only when they changed: compressing them takes seconds that a second start should not."""

import hashlib
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command

# What other packages bring and no page of ours asks for.
UNUSED = ["redoc", "rest_framework", "htmx-4*", "htmx.js", "htmx-2.js"]


def static_fingerprint() -> str:
    """SHA-256 over name, size and time of every file that `collectstatic` would gather."""
    lines = []
    for finder in get_finders():
        for name, storage in finder.list(None):
            status = Path(storage.path(name)).stat()
            lines.append(f"{name}\t{status.st_size}\t{status.st_mtime_ns}")
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def collect_static_if_changed() -> bool:
    """Run `collectstatic` unless its last run gathered just these files. Returns whether it ran."""
    stamp = Path(settings.STATIC_ROOT) / ".fingerprint"
    fingerprint = static_fingerprint()
    if stamp.exists() and stamp.read_text() == fingerprint:
        return False
    call_command("collectstatic", interactive=False, clear=True, ignore_patterns=UNUSED, verbosity=0)
    stamp.write_text(fingerprint)
    return True
