"""What may be set of a study: its words for colleagues and raters, what raters may do, and its seed."""

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.common.models import AuditEntry
from apps.studies.models import Study, StudyStatus
from apps.studies.services.design import DesignError, refresh_items

CHANGEABLE = frozenset(
    {
        "title",
        "description",
        "instructions",
        "content_warning",
        "support_contact",
        "allow_evidence",
        "allow_comments",
        "allow_cannot_tell",
        "reservation_hours",
        "exclusion_reopens_slots",
        "local_only",
    }
)
# Long texts are not copied into the memory of what was done.
TEXTS = frozenset({"description", "instructions", "content_warning", "support_contact"})


@transaction.atomic
def change_settings(*, study: Study, by: User | None, **settings: str | bool | int) -> Study:
    """Set fields of CHANGEABLE; what changed is remembered, if anything did."""
    unknown = settings.keys() - CHANGEABLE
    if unknown:
        raise TypeError(f"not to be set here: {', '.join(sorted(unknown))}")
    study = Study.objects.select_for_update().get(pk=study.pk)
    changed: dict[str, Any] = {}
    for name, value in settings.items():
        before = getattr(study, name)
        if before != value:
            setattr(study, name, value)
            changed[name] = len(str(value)) if name in TEXTS else [before, value]
    if changed:
        study.save(update_fields=[*changed, "updated_at"])
        AuditEntry.objects.create(actor=by, action="study.change", subject=study.slug, details=changed)
    return study


@transaction.atomic
def change_seed(*, study: Study, seed: int, by: User | None) -> Study:
    """Set the seed of a draft that nobody has begun; sampled blocks draw anew.

    Raises DesignError where the study is no draft or has begun: its samples and orders are in use.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.status != StudyStatus.DRAFT or study.has_begun():
        text = _(
            "The seed stays once a study is active or anybody has begun to rate, models too: samples came from it."
        )
        raise DesignError(text)
    if study.seed == seed:
        return study
    before, study.seed = study.seed, seed
    study.save(update_fields=["seed", "updated_at"])
    for block in study.blocks.exclude(sample_size=None).select_related("dataset"):
        refresh_items(block=block, seed=seed)
    AuditEntry.objects.create(actor=by, action="study.change", subject=study.slug, details={"seed": [before, seed]})
    return study
