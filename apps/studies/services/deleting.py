"""Deleting a draft that never began."""

from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.common.models import AuditEntry
from apps.studies.models import Study, StudyStatus
from apps.studies.services.design import DesignError, delete_block


@transaction.atomic
def delete_study(*, study: Study, by: User | None) -> None:
    """Delete a draft with its blocks, raters without ratings, invitations and memberships. Datasets stay.

    Raises DesignError where it is no draft, an item was taken or rated, or a model or a baseline was set to rate:
    neither ratings nor what was asked of a model are ever deleted with a study.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.status != StudyStatus.DRAFT:
        raise DesignError(_("Only a draft can be deleted."))
    if study.has_begun() or study.blocks.begun().exists():
        raise DesignError(_("The study has ratings, or models were set to rate in it: it can no longer be deleted."))
    for block in study.blocks.all():
        delete_block(block=block)
    for rater in study.raters.all():
        rater.exclusions.all().delete()
    for part in (study.raters, study.invitations, study.memberships):
        part.all().delete()
    details = {"title": study.title}
    AuditEntry.objects.create(actor=by, action="study.delete", subject=study.slug, details=details)
    study.delete()
