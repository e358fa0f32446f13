"""Answers of the site itself to what went wrong."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form that was sent from another site, or from a page left open over a new sign-in."""
    return render(request, "403_csrf.html", status=403)
