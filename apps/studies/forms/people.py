"""What owners type to take people into a study, and what those type who start or stop rating."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from apps.studies.models import KIND_MEANINGS, MemberRole, Membership, RaterKind, Study
from apps.studies.services.people import KINDS_OF_PEOPLE

MOST_AT_ONCE = 50
LONGEST_DAYS = 90
DEFAULT_DAYS = 14

ROLES = [
    (MemberRole.RATER, _("Rater: rates conversations, sees no results")),
    (MemberRole.RESEARCHER, _("Researcher: sees the design and the results")),
    (MemberRole.OWNER, _("Owner: also changes the study and its people")),
]
EMAIL = forms.EmailField(max_length=254)
KINDS = [
    (kind, format_lazy("{kind}: {meaning}", kind=kind.label, meaning=KIND_MEANINGS[kind])) for kind in KINDS_OF_PEOPLE
]


def kind_field() -> forms.ChoiceField:
    return forms.ChoiceField(
        label=_("Kind of rater"),
        choices=KINDS,
        initial=RaterKind.EXPERT,
        required=False,
        help_text=_("For raters: the group they belong to in the blocks and in the results."),
    )


class RoleForm(forms.Form):
    role = forms.ChoiceField(label=_("Role"), choices=ROLES, initial=MemberRole.RATER)
    kind = kind_field()

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("role") == MemberRole.RATER and not cleaned.get("kind") and "kind" not in self.errors:
            self.add_error("kind", _("Choose as which kind of rater."))
        return cleaned


class MemberForm(RoleForm):
    """Somebody who has an account already."""

    email = forms.EmailField(label=_("E-mail address"), max_length=254)
    field_order = ["email", "role", "kind"]


class InvitationForm(RoleForm):
    emails = forms.CharField(
        label=_("For these e-mail addresses"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("One on each line. Each gets a link of their own, which nobody else can use."),
    )
    number = forms.IntegerField(
        label=_("Or: how many links for whoever has them"),
        initial=1,
        min_value=1,
        max_value=MOST_AT_ONCE,
        required=False,
        help_text=_("Where no addresses are given. Each link works for one person."),
    )
    days = forms.IntegerField(
        label=_("Days until they expire"), initial=DEFAULT_DAYS, min_value=1, max_value=LONGEST_DAYS
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study

    def clean_emails(self) -> list[str]:
        text = str(self.cleaned_data["emails"]).replace(",", "\n").replace(";", "\n")
        emails = list(dict.fromkeys(line.strip().lower() for line in text.splitlines() if line.strip()))
        if len(emails) > MOST_AT_ONCE:
            raise ValidationError(
                _("These are %(number)d addresses; at most %(most)d can be invited at once."),
                params={"number": len(emails), "most": MOST_AT_ONCE},
            )
        problems = [problem for email in emails if (problem := self._problem(email))]
        if problems:
            raise ValidationError(problems)
        self._refuse_known(emails)
        return emails

    def _problem(self, email: str) -> ValidationError | None:
        try:
            EMAIL.clean(email)
        except ValidationError:
            return ValidationError(_("%(email)s is no e-mail address."), params={"email": email[:100]})
        return None

    def _refuse_known(self, emails: list[str]) -> None:
        invited = set(self.study.invitations.open().filter(email__in=emails).values_list("email", flat=True))
        if invited:
            raise ValidationError(
                _("There is an open invitation for %(emails)s. Renew that one, or revoke it first."),
                params={"emails": ", ".join(sorted(invited))},
            )
        # Addresses of accounts are kept in small letters.
        members = self.study.memberships.filter(user__email__in=emails).values_list("user__email", flat=True)
        if members:
            raise ValidationError(
                _("%(emails)s: in this study already. A role is changed on the list of people."),
                params={"emails": ", ".join(sorted(members))},
            )

    def clean_number(self) -> int:
        return self.cleaned_data["number"] or 1


class RemoveForm(forms.Form):
    """The address of the person is typed, so that nobody is removed by a slip."""

    confirm = forms.CharField(
        label=_("E-mail address of the person"), widget=forms.EmailInput(attrs={"autocomplete": "off"})
    )

    def __init__(self, *args: Any, membership: Membership, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.email = membership.user.email

    def clean_confirm(self) -> str:
        typed = str(self.cleaned_data["confirm"]).strip().lower()
        if typed != self.email:
            raise ValidationError(_("This is not the address of this person: %(email)s."), params={"email": self.email})
        return typed


class StartRatingForm(forms.Form):
    kind = forms.ChoiceField(label=_("As which kind of rater"), choices=KINDS, initial=RaterKind.EXPERT)
    confirm = forms.BooleanField(label=_("I will not see ratings or results while I rate"))


class StopRatingForm(forms.Form):
    confirm = forms.BooleanField(label=_("I know that I cannot rate in this study again"))
