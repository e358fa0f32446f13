"""A new study from an old one: the same design, texts and settings, and none of its raters or ratings."""

from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.common.models import AuditEntry
from apps.corpus.models import Dataset
from apps.studies.models import READING_ROLES, Membership, Study
from apps.studies.services.design import DesignError, add_block, create_study

# Not the switches: a new study starts as a draft, blind, with models' scores sealed.
COPIED = (
    "description",
    "instructions",
    "content_warning",
    "support_contact",
    "local_only",
    "allow_evidence",
    "allow_comments",
    "allow_cannot_tell",
    "exclusion_reopens_slots",
    "reservation_hours",
)


@transaction.atomic
def copy_study(*, study: Study, slug: str, title: str, by: User, with_members: bool = False) -> Study:
    """A draft of the same blocks, framework versions, groups and seed; whoever copies owns it.

    Items are laid out from the datasets as they are now, by the same choice and seed. with_members: its owners and
    researchers come along; raters never do. Raises DesignError when the slug is taken, when a block cannot be laid out
    any more, or when a dataset is not the person's to use.
    """
    _check_datasets(study, by)
    copied = create_study(
        slug=slug,
        title=title,
        owner=by,
        seed=study.seed,
        **{name: getattr(study, name) for name in COPIED},
    )
    for block in study.blocks.select_related("dataset").prefetch_related("groups", "block_frameworks__framework"):
        add_block(
            study=copied,
            slug=block.slug,
            title=block.title,
            dataset=block.dataset,
            frameworks=[row.framework for row in block.block_frameworks.all()],
            groups={group.kind: group.overlap for group in block.groups.all()},
            sample_size=block.sample_size,
            metadata_filter=block.metadata_filter,
            actor=by,
        )
    if with_members:
        members = study.memberships.filter(role__in=READING_ROLES, user__is_active=True).exclude(user=by)
        Membership.objects.bulk_create(
            Membership(study=copied, user_id=member.user_id, role=member.role) for member in members
        )
    AuditEntry.objects.create(
        actor=by, action="study.copy", subject=slug, details={"from": study.slug, "with_members": with_members}
    )
    return copied


def _check_datasets(study: Study, user: User) -> None:
    used = Dataset.objects.filter(blocks__study=study)
    hidden = used.exclude(pk__in=Dataset.objects.visible_to(user)).order_by("name").first()
    if hidden is not None:
        raise DesignError(_("The dataset %(dataset)s is not yours to use: ask its owner.") % {"dataset": hidden.name})
