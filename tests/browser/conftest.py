"""Chromium, driven against a live server: everything a page does is watched, whatever the test is about."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.core.signals import request_finished, request_started
from django.test import Client
from django.urls import get_resolver
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from apps.accounts.models import User

# A browser that asks nobody anything on its own.
FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
]
# As long as a click may take: on a busy machine an answer can be seconds late.
expect.set_options(timeout=10_000)
DESKTOP = {"width": 1440, "height": 900}
PHONE = {"width": 375, "height": 812}

REPORT_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) => {
  window.reportViolation(`${event.violatedDirective} refused ${event.blockedURI} at ${event.sourceFile}`);
});
"""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(os.path.dirname(__file__)):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.django_db(transaction=True))
            # Rating is where people write at the same time; the rest is how pages look and are walked through.
            if item.path.name not in ("test_rating.py", "test_rating_saving.py"):
                item.add_marker(pytest.mark.once)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Closed after this folder: while it lives, Django takes the main thread for an asynchronous one."""
    executable = shutil.which("chromium")
    if executable is None:
        message = "Chromium is not installed (apt-get install chromium)"
        if os.environ.get("REQUIRE_SERVICES") == "1":
            pytest.fail(message)
        pytest.skip(message)
    _ = get_resolver().url_patterns  # imports every view now, so that the first page need not wait for it
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        chromium = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield chromium
        chromium.close()


@dataclass
class Watch:
    """What pages did that no page of this site may do."""

    site: str
    faults: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    over: bool = False

    def follow(self, page: Page) -> None:
        page.expose_function("reportViolation", lambda text: self.note(page, f"content security policy: {text}"))
        page.add_init_script(REPORT_VIOLATIONS)
        page.on("console", lambda message: message.type == "error" and self.note(page, f"console: {message.text}"))
        page.on("pageerror", lambda error: self.note(page, f"script: {error}"))
        page.on("request", lambda request: self.check_host(page, request.url))

    def check_host(self, page: Page, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and f"{parts.scheme}://{parts.netloc}" != self.site:
            self.note(page, f"asked another host: {url}")

    def note(self, page: Page, fault: str) -> None:
        if not self.over and not any(text in fault for text in self.expected):
            self.faults.append(f"{page.url}: {fault}")


OpenPage = Callable[..., Page]


class InFlight:
    """How many requests the server is at work on: the database may not be emptied under them."""

    def __init__(self) -> None:
        self.count, self.lock = 0, threading.Lock()

    def begun(self, **_: object) -> None:
        with self.lock:
            self.count += 1

    def over(self, **_: object) -> None:
        with self.lock:
            self.count -= 1

    def wait(self, seconds: float = 10) -> None:
        """Until nothing was under way twice in a row."""
        calm, until = 0, time.monotonic() + seconds
        while calm < 2 and time.monotonic() < until:
            calm = calm + 1 if self.count <= 0 else 0
            time.sleep(0.02)


@pytest.fixture
def in_flight(live_server: Any) -> Iterator[InFlight]:
    requests = InFlight()
    request_started.connect(requests.begun)
    request_finished.connect(requests.over)
    yield requests
    request_started.disconnect(requests.begun)
    request_finished.disconnect(requests.over)


@pytest.fixture
def watch(live_server: Any) -> Iterator[Watch]:
    watched = Watch(live_server.url)
    yield watched
    assert watched.faults == []


@pytest.fixture
def open_page(browser: Browser, live_server: Any, watch: Watch, in_flight: InFlight) -> Iterator[OpenPage]:
    """`open_page(user, viewport=PHONE, color_scheme="dark")`: a page of a browser of its own, already signed in."""
    contexts: list[BrowserContext] = []

    def opened(user: User | None = None, **options: Any) -> Page:
        context = browser.new_context(base_url=live_server.url, **({"viewport": DESKTOP} | options))
        context.set_default_timeout(10_000)
        contexts.append(context)
        if user is not None:
            context.add_cookies([session_cookie(user, live_server.url)])
        page = context.new_page()
        watch.follow(page)
        return page

    yield opened
    watch.over = True
    for context in contexts:
        # A page that closes sends its last word, which nobody waits for: not into the next test's database.
        context.set_offline(True)
        context.close()
    in_flight.wait()


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """A page of nobody in particular."""
    return open_page()


def session_cookie(user: User, url: str) -> Any:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return {
        "name": settings.SESSION_COOKIE_NAME,
        "value": client.cookies[settings.SESSION_COOKIE_NAME].value,
        "url": url,
    }


def accessibility_faults(page: Page) -> list[str]:
    """Every violation that axe finds, of whatever weight, one line each; inside Swagger UI is not ours to mend."""
    found = Axe().run(page, context={"exclude": [["#swagger-ui"]]}).response["violations"]
    return [
        f"{violation['impact']} {violation['id']}: {node['html'][:200]}"
        for violation in found
        for node in violation["nodes"]
    ]


def assert_accessible(page: Page) -> None:
    assert accessibility_faults(page) == []


def scrolls_sideways(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))
