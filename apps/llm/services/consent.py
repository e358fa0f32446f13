"""Whether a study's text may be sent to an endpoint. What stays on this machine needs no leave.

A confirmation ends when the study is set to stay on this machine: one from before that does not count afterwards.
"""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.common.models import AuditEntry
from apps.llm.models import Endpoint, TextConsent
from apps.studies.models import Study


class ConsentError(ValueError):
    """The study's text may not leave, whoever confirms it; the message says why."""


def leave_problem(*, study: Study, endpoint: Endpoint) -> str:
    """Why the study's text may not be sent to the endpoint, in one sentence; "" where it may."""
    return leave_problems(studies=[study], endpoint=endpoint)[study.pk]


def leave_problems(*, studies: Iterable[Study], endpoint: Endpoint) -> dict[int, str]:
    """study -> as `leave_problem`. At most one query, however many studies."""
    by_pk = {study.pk: study for study in studies}
    if endpoint.is_loopback:
        return dict.fromkeys(by_pk, "")
    problems = {pk: _local_only_sentence(endpoint) for pk, study in by_pk.items() if study.local_only}
    asked = by_pk.keys() - problems.keys()
    confirmed = set(_standing(asked, endpoint).values_list("study", flat=True)) if asked else set()
    return problems | {pk: "" if pk in confirmed else _unconfirmed_sentence(endpoint) for pk in asked}


def needs_consent(*, study: Study, endpoint: Endpoint) -> bool:
    """Whether somebody has to confirm first that the text may leave, and has not. False where nobody could."""
    if endpoint.is_loopback or study.local_only:
        return False
    return not _standing([study.pk], endpoint).exists()


def _standing(study_ids: Iterable[int], endpoint: Endpoint) -> QuerySet[TextConsent]:
    """Confirmations that count: the study was not set to stay on this machine since."""
    made_local = AuditEntry.objects.filter(
        action="study.change",
        subject=OuterRef("study__slug"),
        at__gte=OuterRef("given_at"),
        details__local_only=[False, True],
    )
    return TextConsent.objects.filter(~Exists(made_local), study__in=study_ids, endpoint=endpoint)


@transaction.atomic
def give_consent(*, study: Study, endpoint: Endpoint, by: User | None) -> TextConsent:
    """Remember that the study's text may leave for the endpoint; a second time changes nothing,
    unless the first has ended.

    The caller asks whether the person manages the study. Raises ConsentError where the study is for this machine only,
    and where the endpoint's address is another by now than the one that is given.
    """
    # Whoever makes the study local at this moment waits, or was first.
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    seen, endpoint = endpoint, Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
    if (seen.provider, seen.base_url) != (endpoint.provider, endpoint.base_url):
        raise ConsentError(
            _("%(endpoint)s has another address by now: look at it, and confirm anew.") % {"endpoint": endpoint.name}
        )
    if study.local_only and not endpoint.is_loopback:
        raise ConsentError(_local_only_sentence(endpoint))
    if (standing := _standing([study.pk], endpoint).first()) is not None:
        return standing
    consent, _is_new = TextConsent.objects.update_or_create(
        study=study, endpoint=endpoint, defaults={"given_by": by, "given_at": timezone.now()}
    )
    AuditEntry.objects.create(
        actor=by,
        action="study.text_consent",
        subject=study.slug,
        details={"endpoint": endpoint.name, "provider": endpoint.provider, "base_url": endpoint.base_url},
    )
    return consent


def _unconfirmed_sentence(endpoint: Endpoint) -> str:
    return _(
        "%(endpoint)s is not on this machine: somebody who manages the study has to confirm first that its text may be "
        "sent there."
    ) % {"endpoint": endpoint.name}


def _local_only_sentence(endpoint: Endpoint) -> str:
    return _("The study's text stays on this machine, and %(endpoint)s is not on it.") % {"endpoint": endpoint.name}
