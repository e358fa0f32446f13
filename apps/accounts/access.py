"""Who may open a page of the site. What a person may do in a study is asked of the study."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django_htmx.middleware import HtmxDetails

from apps.accounts.models import User

P = ParamSpec("P")


class PersonRequest(HttpRequest):
    """The request of somebody who is signed in."""

    user: User
    htmx: HtmxDetails


View = Callable[Concatenate[PersonRequest, P], HttpResponse]


def _required(view: View[P], allowed: Callable[[User], bool]) -> View[P]:
    @wraps(view)
    def guarded(request: PersonRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not allowed(request.user):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return cast(View[P], login_required(guarded))


def admin_required(view: View[P]) -> View[P]:
    """Nobody signed in: to the sign-in page; not an admin: 403."""
    return _required(view, lambda user: user.is_admin)


def researcher_required(view: View[P]) -> View[P]:
    """Nobody signed in: to the sign-in page; neither researcher nor admin: 403."""
    return _required(view, lambda user: user.is_researcher)
