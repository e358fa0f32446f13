"""Sending the links of invitations to the addresses they are for."""

from collections.abc import Iterable

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.template.loader import render_to_string
from django.urls import reverse

from apps.studies.services.invitations import NewInvitation

# These write mails to the terminal, to nowhere and to a folder: the person would wait for ever, and logs would hold
# the link.
WITHOUT_MAIL = {f"django.core.mail.backends.{name}.EmailBackend" for name in ("console", "dummy", "filebased")}


def site_sends_mail() -> bool:
    return settings.EMAIL_BACKEND not in WITHOUT_MAIL


def invitation_link(token: str) -> str:
    """The whole address, under the site's own name: what a mail holds never comes from the Host header."""
    return f"{settings.BASE_URL}{reverse('invitations:link', args=[token])}"


def send_invitations(invitations: Iterable[NewInvitation]) -> list[str]:
    """Mails each invitation that has an address; the addresses that failed.

    One connection for all of them, and none after it could not be made: somebody waits for the page.
    """
    waiting = [new for new in invitations if new.invitation.email]
    connection = get_connection()
    try:
        connection.open()
    except OSError:  # smtplib's own errors are among these
        return [new.invitation.email for new in waiting]
    failed = []
    try:
        for new in waiting:
            try:
                connection.send_messages([_message(new)])
            except OSError:
                failed.append(new.invitation.email)
    finally:
        connection.close()
    return failed


def _message(new: NewInvitation) -> EmailMessage:
    context = {"invitation": new.invitation, "study": new.invitation.study, "link": invitation_link(new.token)}
    # A title may have line breaks, a subject may not.
    subject = " ".join(render_to_string("studies/invitation_subject.txt", context).split())
    body = render_to_string("studies/invitation_mail.txt", context).strip() + "\n"
    return EmailMessage(subject, body, to=[new.invitation.email])
