"""Settings of Accord. Everything that differs between installations comes from the environment (docs/running.md)."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import environ
from celery.schedules import crontab
from csp.constants import NONE, SELF

from config.broker import folder_options
from config.logs import mask_every_log
from config.secret import read_or_create_secret_key

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

VAR_DIR = Path(env.str("ACCORD_VAR", default=str(BASE_DIR / "var"))).resolve()
# Conversations are sensitive: where Accord makes the folder, only its owner looks in.
VAR_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)

DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = env.str("SECRET_KEY", default="") or read_or_create_secret_key(VAR_DIR / "secret-key")
# This machine's own names are always among them: health checks ask by these.
ALLOWED_HOSTS = [*env.list("ALLOWED_HOSTS", default=[]), "localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
BASE_URL = env.str("BASE_URL", default="http://localhost:8000").rstrip("/")
HTTPS = urlparse(BASE_URL).scheme == "https"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "axes",
    "csp",
    "django_htmx",
    "template_partials",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "apps.common",
    "apps.accounts",
    "apps.frameworks",
    "apps.corpus",
    "apps.studies",
    "apps.annotation",
    "apps.llm",
    "apps.reliability",
    "apps.reports",
    "apps.dashboard",
    "apps.operations",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "apps.common.middleware.UploadLimit",
    "apps.common.middleware.BusyDatabase",
    "apps.accounts.middleware.PrivatePages",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "apps.accounts.middleware.SignedOutPages",
    # Last, as django-axes asks: it turns a locked sign-in into an answer.
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

# --- Database -----------------------------------------------------------------------------------------------------

# The default is no URL: a folder's name may hold what a URL gives a meaning to (# ? %).
SQLITE = {"ENGINE": "django.db.backends.sqlite3", "NAME": VAR_DIR / "accord.sqlite3"}
DATABASES: dict[str, dict[str, Any]] = {
    "default": env.db("DATABASE_URL") if env.str("DATABASE_URL", default="") else SQLITE
}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"] |= {
        # Read-then-write transactions must take the write lock at once: a deferred one fails under concurrent saves,
        # whatever the timeout.
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": (
                "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA mmap_size=134217728;PRAGMA cache_size=-20000;"
            ),
        },
        # The last close of a WAL database removes its side files while others open it: stay connected.
        "CONN_MAX_AGE": None,
    }
else:
    DATABASES["default"] |= {
        "OPTIONS": {"pool": {"min_size": 1, "max_size": 8, "timeout": 10}},
        "CONN_MAX_AGE": 0,
        # A pool hands out what it holds: after a restart of the server that would be dead connections.
        "CONN_HEALTH_CHECKS": True,
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env.str("REDIS_URL", default="")
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}
    if REDIS_URL
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
}

# --- People -------------------------------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ["email", "name"]},
    },
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "accounts:sign-in"
LOGIN_REDIRECT_URL = "dashboard:home"
LOGOUT_REDIRECT_URL = "accounts:sign-in"
PASSWORD_RESET_TIMEOUT = 60 * 60 * 4

# Five failures for one e-mail address from one address lock that pair for a quarter of an hour; one e-mail address
# cannot be locked for everybody by a stranger.
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
# Django hands the address over as `username`, whatever the model calls it; under another name nobody would be locked.
AXES_USERNAME_FORM_FIELD = "username"
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_TEMPLATE = "accounts/locked_out.html"
AXES_HTTP_RESPONSE_CODE = 429
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False

email = env.email("EMAIL_URL", default="consolemail://")
EMAIL_BACKEND = email["EMAIL_BACKEND"]
EMAIL_HOST = email["EMAIL_HOST"]
EMAIL_PORT = email["EMAIL_PORT"] or 25
EMAIL_HOST_USER = email["EMAIL_HOST_USER"]
EMAIL_HOST_PASSWORD = email["EMAIL_HOST_PASSWORD"]
EMAIL_FILE_PATH = email["EMAIL_FILE_PATH"]
EMAIL_USE_TLS = email.get("EMAIL_USE_TLS", False)
EMAIL_USE_SSL = email.get("EMAIL_USE_SSL", False)
# Mail is sent while somebody waits for the page.
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default="Accord <accord@localhost>")

# --- Language and time --------------------------------------------------------------------------------------------

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
# One style of dates on every page.
FORMAT_MODULE_PATH = ["config.formats"]
USE_I18N = True
USE_TZ = True

# --- Static files -------------------------------------------------------------------------------------------------

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = VAR_DIR / "static"
# Only hashed names are served, and source maps are not worth the minute that compressing them takes.
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = ["png", "jpg", "webp", "gif", "woff", "woff2", "gz", "br", "zip", "map", "txt"]
STORAGES: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {
            "location": VAR_DIR / "media",
            # Conversations and ratings as people handed them in: nobody else on this machine reads them.
            "file_permissions_mode": 0o600,
            "directory_permissions_mode": 0o700,
        },
    },
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# --- Safety -------------------------------------------------------------------------------------------------------

# Sensitive conversations: nothing from another host, no inline script or style, no eval. Django has its own setting
# for this from 6.0 on.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "apps.dashboard.views.errors.csrf_failure"
SESSION_COOKIE_AGE = int(timedelta(days=14).total_seconds())
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024
# A conversation of 500 turns, 200 metadata and 200 factors is one form of 3,600 fields (apps/corpus/draft.py).
DATA_UPLOAD_MAX_NUMBER_FIELDS = 4000
# The largest file somebody may upload, in bytes.
UPLOAD_MAX_BYTES = env.int("UPLOAD_MAX_BYTES", default=200 * 1024 * 1024)

# --- REST ---------------------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "apps.accounts.authentication.ApiKeyAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PAGINATION_CLASS": "apps.common.api.Pages",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["apps.common.api.PlainJSONParser"],
    # No answers to OPTIONS: they would come for objects of others too, where every other method finds nothing.
    "DEFAULT_METADATA_CLASS": None,
    # A figure that is undefined is null with its reason; NaN is not JSON.
    "STRICT_JSON": True,
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Accord",
    "DESCRIPTION": "Reliability studies of conversation ratings.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    # The validator is a stranger's server.
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "validatorUrl": None, "defaultModelsExpandDepth": -1},
    "SCHEMA_PATH_PREFIX": "/api/v1",
}

# --- Background work ----------------------------------------------------------------------------------------------

CELERY_BROKER_URL = REDIS_URL or "accordfs://localhost"
# A page that starts a job does not wait for a Redis that is down: the job is a row, and the sweeper triggers it later.
CELERY_BROKER_TRANSPORT_OPTIONS = (
    {"socket_connect_timeout": 2, "max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.1}
    if REDIS_URL
    else folder_options(VAR_DIR / "broker")
)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TIMEZONE = TIME_ZONE
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "beat")
CELERY_BEAT_SCHEDULE = {
    "clear expired sessions": {"task": "accounts.clear_expired_sessions", "schedule": crontab(hour=3, minute=10)},
    "forget old sign-in attempts": {"task": "accounts.forget_old_attempts", "schedule": crontab(hour=3, minute=20)},
    # A sweep that no worker took in time is not worth doing: the next one is there.
    "sweep jobs": {"task": "common.sweep_jobs", "schedule": 15.0, "options": {"expires": 15.0}},
    # Frees what dead workers held, and triggers runs whose message was lost.
    "sweep calls to models": {"task": "llm.sweep", "schedule": 15.0, "options": {"expires": 15.0}},
    "delete old files": {"task": "common.delete_old_files", "schedule": crontab(hour=3, minute=30)},
    "delete stray files of reports": {"task": "reports.delete_stray_files", "schedule": crontab(hour=3, minute=40)},
    # Whoever wants a place marks what has lapsed, too: this keeps the pages of progress true meanwhile.
    "lapse reservations": {"task": "studies.lapse_reservations", "schedule": 180.0, "options": {"expires": 180.0}},
}

# A request to a model whose worker was not heard of for so long is taken for lost, and may be sent again.
LLM_LEASE_SECONDS = env.int("LLM_LEASE_SECONDS", default=60)

mask_every_log()
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        # "No hostname was supplied": the embedded broker has none.
        "kombu.connection": {"level": "ERROR"},
        "django.server": {"handlers": ["console"], "level": "INFO", "propagate": False},
        "axes": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},  # a line for every request to a model
    },
}
