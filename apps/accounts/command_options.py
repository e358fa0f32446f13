"""Options of management commands that name a person."""

from django.core.management.base import CommandError

from apps.accounts.models import User


def person_named(email: str | None) -> User | None:
    """The active person with that e-mail address, None where the option was left out. Raises CommandError."""
    if not email:
        return None
    person: User | None = User.objects.filter(email__iexact=email, is_active=True).first()
    if person is None:
        raise CommandError(f"Nobody active has the e-mail address {email}.")
    return person
