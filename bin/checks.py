"""Runs the checks of bin/test one after another, and sums up what failed and what could not run."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlparse

import psycopg
import redis

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
POSTGRES = os.environ.get("TEST_DATABASE_URL") or "postgres://accord:accord@127.0.0.1:5432/accord"
REDIS = os.environ.get("TEST_REDIS_URL") or "redis://127.0.0.1:6379/15"
REQUIRED = os.environ.get("REQUIRE_SERVICES") == "1"


# What would point the tests at a real installation, or set them up like one.
OURS = {
    "ACCORD_VAR",
    "ALLOWED_HOSTS",
    "BASE_URL",
    "CSRF_TRUSTED_ORIGINS",
    "DATABASE_URL",
    "DEBUG",
    "DEFAULT_FROM_EMAIL",
    "EMAIL_URL",
    "HOST",
    "PORT",
    "REDIS_URL",
    "SECRET_KEY",
}
# What is the same on every database has been run already; tests/config starts sites of its own.
WITHOUT_WHAT_NEEDS_NONE = ("--ignore=tests/measures", "--ignore=tests/config", "-m", "not once")
CAN_MAKE_DATABASES = "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"


def postgres_problem() -> str:
    """Why the suite cannot use PostgreSQL; empty if it can. A server of somebody else's may well be listening."""
    try:
        with psycopg.connect(POSTGRES, connect_timeout=3) as server:
            allowed = server.execute(CAN_MAKE_DATABASES).fetchone()
    except psycopg.Error as error:
        return first_line(error)
    return "" if allowed and allowed[0] else "its role may not make databases"


def redis_problem() -> str:
    try:
        redis.Redis.from_url(REDIS, socket_timeout=3).ping()
    except (redis.RedisError, ValueError) as error:
        return first_line(error)
    return ""


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def environment(**extra: str) -> dict[str, str]:
    """The caller's, less what is meant for a real installation."""
    inherited = {key: value for key, value in os.environ.items() if key not in OURS}
    inherited["PATH"] = f"{BIN}{os.pathsep}{inherited.get('PATH', '')}"
    # The tests run on every core: threads inside each one's linear algebra only get in each other's way.
    inherited.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Of the many processes that tests start, each would compile every module anew.
    inherited.pop("PYTHONDONTWRITEBYTECODE", None)
    return inherited | {"TEST_DATABASE_URL": POSTGRES, "TEST_REDIS_URL": REDIS} | extra


def templates() -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "templates").rglob("*.html"))


def pytest(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-n", "auto", "--dist", "loadgroup", *arguments]


def static_checks(var: str) -> list[tuple[str, list[str], dict[str, str]]]:
    manage = [sys.executable, "manage.py"]
    env = environment(ACCORD_VAR=var)
    return [
        # Its cache keeps what it took for a package of ours, even where that has changed since.
        ("style", ["ruff", "check", "--no-cache", "."], env),
        ("format", ["ruff", "format", "--check", "."], env),
        ("templates", ["djade", "--check", "--target-version", "5.2", *templates()], env),
        ("types", ["mypy"], env),
        ("layers", ["lint-imports"], env),
        ("system checks", [*manage, "check", "--fail-level", "WARNING"], env),
        ("migrations", [*manage, "makemigrations", "--check", "--dry-run"], env),
        ("API schema", [*manage, "spectacular", "--validate", "--fail-on-warn", "--file", os.devnull], env),
    ]


def run(name: str, command: list[str], env: dict[str, str]) -> bool:
    print(f"\n== {name}: {' '.join(command[:6])}{' ...' if len(command) > 6 else ''}", flush=True)
    begun = time.monotonic()
    passed = subprocess.run(command, cwd=ROOT, env=env, check=False).returncode == 0
    print(f"== {name}: {'passed' if passed else 'FAILED'} in {time.monotonic() - begun:.0f} s", flush=True)
    return passed


def missing_services(postgres: str, broker: str) -> list[str]:
    """One sentence for each thing that is not there, with what could not run for it."""
    data = Path(os.environ.get("ACCORD_TEST_DATA") or ROOT.parent / "shared" / "data")
    checks = [
        (
            postgres,
            f"PostgreSQL at {place(POSTGRES)} cannot be used ({postgres}): "
            "the suite ran on SQLite only, and the container's commands were not tried",
        ),
        (broker, f"Redis at {place(REDIS)} cannot be used ({broker}): the container's commands were not tried"),
        (not shutil.which("chromium"), "chromium is not installed: the browser tests were skipped"),
        (not data.is_dir(), f"the public data is not at {data} (ACCORD_TEST_DATA): its tests were skipped"),
    ]
    return [sentence for problem, sentence in checks if problem]


def place(url: str) -> str:
    """The address without the password."""
    return urlparse(url).netloc.rpartition("@")[2]


def everything() -> int:
    postgres, broker = postgres_problem(), redis_problem()
    missing = missing_services(postgres, broker)
    usable = {"TEST_DATABASE_URL": "" if postgres else POSTGRES, "TEST_REDIS_URL": "" if broker else REDIS}
    with tempfile.TemporaryDirectory(prefix="accord-checks-") as var:
        suites = [("tests on SQLite", pytest(), environment(ACCORD_VAR=var, **usable))]
        if not postgres:
            env = environment(ACCORD_VAR=var, DATABASE_URL=POSTGRES, **usable)
            suites.append(("tests on PostgreSQL", pytest(*WITHOUT_WHAT_NEEDS_NONE), env))
        failed = [name for name, command, env in static_checks(var) + suites if not run(name, command, env)]
    print("\n" + "=" * 60)
    for sentence in missing:
        print(f"{'FAILED' if REQUIRED else 'not run'}: {sentence}")
    print(f"failed: {', '.join(failed)}" if failed else "every check that ran has passed")
    return 1 if failed or (REQUIRED and missing) else 0


def main() -> int:
    if len(sys.argv) == 1:
        return everything()
    command = [sys.executable, "-m", "pytest", *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT, env=environment(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
