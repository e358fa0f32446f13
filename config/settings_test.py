"""Settings of the tests: the real ones, less what only costs time or needs a built site."""

import os
import tempfile

if "ACCORD_VAR" not in os.environ:
    # Kept in a name: it is deleted when the process ends.
    var = tempfile.TemporaryDirectory(prefix="accord-test-", ignore_cleanup_errors=True)
    os.environ["ACCORD_VAR"] = var.name

from config.settings import *  # noqa: F403
from config.settings import DATABASES, STATIC_ROOT, STORAGES, VAR_DIR

SECRET_KEY = "tests only"  # noqa: S105
ALLOWED_HOSTS = ["*"]
DEBUG = False
STORAGES = STORAGES | {
    # Tests run in several processes, and some ask which files are left.
    "default": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": STORAGES["default"]["OPTIONS"]
        | {"location": VAR_DIR / f"media-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"},
    },
    # The live server finds static files by their source names.
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
CELERY_TASK_ALWAYS_EAGER = True
CELERY_TASK_EAGER_PROPAGATES = True
CELERY_BROKER_URL = "memory://"
CELERY_BROKER_TRANSPORT_OPTIONS = {}
# WhiteNoise asks for its folder, even an empty one.
STATIC_ROOT.mkdir(exist_ok=True)
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, because threads of a test share an in-memory database only with its locks.
    DATABASES["default"]["TEST"] = {"NAME": VAR_DIR / "test.sqlite3"}
