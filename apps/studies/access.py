"""Which study a page is about, and whether the person may change it."""

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404

from apps.accounts.models import User
from apps.studies.models import Study


def readable_study(user: User, slug: str) -> Study:
    """The study, for those who work with it. To raters and strangers it is not there (Http404)."""
    return get_object_or_404(Study.objects.readable_by(user), slug=slug)


def managed_study(user: User, slug: str) -> Study:
    """The study, for its owners and admins. Its researchers know it and may not change it (PermissionDenied)."""
    study = readable_study(user, slug)
    if not study.is_managed_by(user):
        raise PermissionDenied
    return study
