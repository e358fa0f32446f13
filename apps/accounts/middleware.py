"""What is shown to a signed-in person stays out of every cache."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.cache import add_never_cache_headers


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


def _is_signed(request: HttpRequest) -> bool:
    # The person is asked for only where the session was read anyway: the health pages stay without a query.
    return "Authorization" in request.headers or (request.session.accessed and request.user.is_authenticated)
