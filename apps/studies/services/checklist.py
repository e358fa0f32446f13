"""What is left to do before a study's raters can begin, in the order in which one does it."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.studies.models import BlockGroup, Invitation, MemberRole, Study


@dataclass(frozen=True, slots=True)
class Step:
    """`page`, `anchor`: name of the page on which it is done, and the place on it.

    `is_needed`: without it the study cannot be activated.
    """

    title: str
    advice: str
    page: str
    is_done: bool
    is_needed: bool = False
    anchor: str = ""


def steps_to_activate(study: Study) -> list[Step]:
    """In three queries."""
    n_blocks = study.blocks.count()
    has_groups = BlockGroup.objects.filter(block__study=study).exists()
    invitations = Invitation.objects.filter(study=study, role=MemberRole.RATER)
    has_raters = study.raters.filter(user__isnull=False, left_at=None).exists() or invitations.exists()
    return [
        Step(
            _("Say what is rated"),
            _("A block: a dataset, and the frameworks it is rated on."),
            "studies:block-new",
            n_blocks > 0,
            is_needed=True,
        ),
        Step(
            _("Say who rates"),
            _("For each block the kinds of raters, and how many of them each item gets."),
            "studies:overview",
            has_groups,
            is_needed=True,
            anchor="blocks",
        ),
        Step(
            _("Write instructions"),
            _("What raters read before they begin: what to look for, what to leave aside."),
            "studies:settings",
            bool(study.instructions.strip()),
            anchor="texts-heading",
        ),
        Step(
            _("Name a contact, and warn of hard stories"),
            _("Whom raters can turn to, and what they should be prepared for."),
            "studies:settings",
            bool(study.support_contact.strip()),
            anchor="texts-heading",
        ),
        Step(
            _("Invite raters"),
            _("By link or by mail. They see that the study has not begun."),
            "studies:invite",
            has_raters,
        ),
    ]
