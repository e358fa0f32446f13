"""Whether a study's text may be sent to an endpoint. What stays on this machine needs no leave."""

from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.common.models import AuditEntry
from apps.llm.models import Endpoint, TextConsent
from apps.studies.models import Study


class ConsentError(ValueError):
    """The study's text may not leave, whoever confirms it; the message says why."""


def leave_problem(*, study: Study, endpoint: Endpoint) -> str:
    """Why the study's text may not be sent to the endpoint, in one sentence; "" where it may."""
    if endpoint.is_loopback:
        return ""
    if study.local_only:
        return _local_only_sentence(endpoint)
    if needs_consent(study=study, endpoint=endpoint):
        return _(
            "%(endpoint)s is not on this machine: somebody who manages the study has to confirm first that its text "
            "may be sent there."
        ) % {"endpoint": endpoint.name}
    return ""


def needs_consent(*, study: Study, endpoint: Endpoint) -> bool:
    """Whether somebody has to confirm first that the text may leave, and has not. False where nobody could."""
    if endpoint.is_loopback or study.local_only:
        return False
    return not TextConsent.objects.filter(study=study, endpoint=endpoint).exists()


@transaction.atomic
def give_consent(*, study: Study, endpoint: Endpoint, by: User | None) -> TextConsent:
    """Remember that the study's text may leave for the endpoint; a second time changes nothing.

    The caller asks whether the person manages the study. Raises ConsentError where the study is for this machine only.
    """
    # Whoever makes the study local at this moment waits, or was first.
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    endpoint = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
    if study.local_only and not endpoint.is_loopback:
        raise ConsentError(_local_only_sentence(endpoint))
    consent, is_new = TextConsent.objects.get_or_create(study=study, endpoint=endpoint, defaults={"given_by": by})
    if is_new:
        AuditEntry.objects.create(
            actor=by,
            action="study.text_consent",
            subject=study.slug,
            details={"endpoint": endpoint.name, "provider": endpoint.provider, "base_url": endpoint.base_url},
        )
    return consent


def _local_only_sentence(endpoint: Endpoint) -> str:
    return _("The study's text stays on this machine, and %(endpoint)s is not on it.") % {"endpoint": endpoint.name}
