"""What is shown to a signed-in person stays out of every cache; a page notices that nobody is signed in any more."""

from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.utils.cache import add_never_cache_headers
from django_htmx.http import HttpResponseClientRedirect


class PrivatePages:
    """Marks answers to signed-in people `no-store`, so that Back after signing out on a shared computer shows none.

    Answers that say something of caching themselves are left alone.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not response.has_header("Cache-Control") and _is_signed(request):
            add_never_cache_headers(response)
        return response


class SignedOutPages:
    """Sends the whole page to sign in where a piece of it is asked for and nobody is signed in.

    A redirect would be followed unseen, and the sign-in page swapped into the page in place of the piece. `next` is
    the page, not the piece; a page of another host is none.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not request.htmx or not _leads_to_sign_in(response) or request.user.is_authenticated:  # type: ignore[attr-defined]
            return response
        page = _page_of(request)
        sign_in = redirect_to_login(page).url if page else resolve_url(settings.LOGIN_URL)
        leading = HttpResponseClientRedirect(sign_in)
        add_never_cache_headers(leading)
        return leading


def _page_of(request: HttpRequest) -> str | None:
    """The address of the page that asks for a piece, below this host; None where it is not known.

    Only the host is compared: behind a proxy the request itself came over plain HTTP.
    """
    try:
        page = urlsplit(request.htmx.current_url or "")  # type: ignore[attr-defined]
    except ValueError:
        return None
    return page._replace(scheme="", netloc="").geturl() if page.netloc == request.get_host() else None


def _leads_to_sign_in(response: HttpResponse) -> bool:
    address = response.headers.get("Location", "").partition("?")[0]
    return response.status_code == 302 and address == resolve_url(settings.LOGIN_URL)


def _is_signed(request: HttpRequest) -> bool:
    # The person is asked for only where the session was read anyway: the health pages stay without a query.
    return "Authorization" in request.headers or (request.session.accessed and request.user.is_authenticated)
